"""Showing events, runs and verdicts."""
