"""Experiments of published papers: what they claim, what comes out here, and whether the two agree.

A paper is a folder under `papers/`: `paper.toml` says what it is, `experiments.toml` what is run, `claims.toml` what
should come out, and `scenarios/` holds the scenario files. Functions from results to numbers are in
`pullnet.papers.measures`, pictures in `pullnet.papers.figures`.
"""
