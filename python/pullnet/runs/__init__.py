"""Runs of scenarios: reading and checking a scenario, one run or many, progress and cost."""
