"""The record of a run: folded from its events, with contents resolved when it is viewed."""
