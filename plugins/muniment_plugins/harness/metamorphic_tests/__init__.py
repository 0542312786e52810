"""Metamorphic tests: transforms of the data, and relations that must hold."""
