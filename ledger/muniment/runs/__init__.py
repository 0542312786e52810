"""Programs at work: runs, effects, streams, resumption."""
