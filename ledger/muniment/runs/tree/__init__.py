"""Runs that come from runs: children and forks, and how called runs are canceled."""
