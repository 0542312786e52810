"""Artifacts: typed records of context, how they are made, chosen and shown."""
