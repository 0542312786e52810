"""Commands that show what a ledger holds."""
