"""Graphs for people: what they would do, how far they are, and their records."""
