"""Graphs as documents: their words, their shapes, their normal form."""
