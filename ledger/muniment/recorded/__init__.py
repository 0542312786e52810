"""The record of a run, ready to answer and to be compared."""
