"""Budgets: what a run may spend, what it spent, and what happens once that is all."""
