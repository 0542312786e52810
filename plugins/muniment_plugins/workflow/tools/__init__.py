"""Tools: registries of them, what is odd about one, and the check at a call."""
