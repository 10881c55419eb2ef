"""Results of runs: tables, summary, result folder, comparison of two results, and text for terminals and notebooks."""
