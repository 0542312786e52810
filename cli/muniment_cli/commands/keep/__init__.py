"""Commands that keep a ledger, its keys and its plugins in order."""
