"""Pins: environment and data of a flow, computed, recorded, and compared."""
