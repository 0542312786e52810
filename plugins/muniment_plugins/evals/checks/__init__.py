"""What runs are held against: fixtures, assertions, thresholds, other runs, a judge."""
