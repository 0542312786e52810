"""The writer: transactions, appends, checkpoints, and making a ledger."""
