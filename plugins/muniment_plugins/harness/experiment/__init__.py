"""Experiments: conditions, replicates, verdicts, results."""
