"""What is said of a governed run, from its events alone."""
