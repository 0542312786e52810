"""Commands to start with."""
