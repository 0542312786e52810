"""Lanes that no program holds: those of plugins."""
