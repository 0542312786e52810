"""Two sets of runs, paired by case: what got better, and what got worse."""
