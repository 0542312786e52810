"""The recorder's side in the recorded program; loaded by path, one file at a time."""
