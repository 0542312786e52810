"""One judge for replays, for two runs, for forks and for traces from elsewhere."""
