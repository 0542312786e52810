"""Answers on a terminal and in a pipe."""
