"""One run: the places of its events, and whether it is complete."""
