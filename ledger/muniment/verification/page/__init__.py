"""Compares the report in a bundle with the events that it cites."""
