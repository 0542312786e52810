"""Contracts: what verifiers hold work against, said before the work is done."""
