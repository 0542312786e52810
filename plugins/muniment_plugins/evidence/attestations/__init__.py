"""Statements in the predicates of others, which the ledger signs about its runs."""
