"""Deriving results again from the record, and judging them."""
