"""What a record says again, for people and displays: derived from its other fields."""
