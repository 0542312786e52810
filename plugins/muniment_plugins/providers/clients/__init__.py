"""HTTP clients whose requests are effects of a run."""
