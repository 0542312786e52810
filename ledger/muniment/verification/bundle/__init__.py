"""Verifying an evidence bundle: the record of one run, in files, without its ledger."""
