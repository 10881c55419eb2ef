"""Sweeps: a scenario at every combination of some settings, with many seeds, each run made once.

`axes` reads the axes of a sweep, `plan` turns them into points and runs with names made from their content, `store`
keeps the results of runs. `local`, `cluster` and `slurm` carry runs out. `data` and `figure` make tables and pictures.
The function `pullnet.sweep` and the command `pullnet sweep` are both `pullnet.sweeps.sweep`.
"""
