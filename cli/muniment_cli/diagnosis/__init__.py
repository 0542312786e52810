"""Diagnosing this machine and plugins: what is wrong, and what to do about it."""
