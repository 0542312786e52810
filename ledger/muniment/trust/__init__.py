"""What this user remembers of ledgers, kept apart from them."""
