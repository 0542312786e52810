"""muniment: a signed, hash-chained ledger of what programs and models did."""
