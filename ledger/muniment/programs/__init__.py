"""Programs: how runs name them, and how they are found again."""
