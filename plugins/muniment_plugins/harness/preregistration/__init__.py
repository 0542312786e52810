"""Preregistration: what was registered before the run, and whether that is what ran."""
