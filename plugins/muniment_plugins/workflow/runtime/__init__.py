"""What walking a graph stands on: paths, what runs at once, and how it can end."""
