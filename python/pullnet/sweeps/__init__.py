"""Sweeps: a scenario at every combination of some settings, with many seeds, each run made once.

`axes` reads what is varied, `plan` turns it into points and runs with names made from their content, `store` keeps what
they leave. `local`, `cluster` and `slurm` carry runs out. `data` and `figure` are what comes of it. The function
`pullnet.sweep` and the command `pullnet sweep` are both `pullnet.sweeps.sweep`.
"""
