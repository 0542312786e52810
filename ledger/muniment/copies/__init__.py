"""Ledgers beside a ledger: backups, other histories, predecessors and successors."""
