"""The user's functions: how plans name them, where they run, what they are given."""
