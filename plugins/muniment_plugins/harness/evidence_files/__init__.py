"""The files beside an experiment, written from its events."""
