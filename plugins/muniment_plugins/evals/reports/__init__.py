"""The result of an eval, for other programs."""
