"""Explaining runs: why each is in its state, and which command to give next."""
