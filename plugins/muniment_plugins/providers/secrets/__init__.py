"""Secrets and personal data out of what is written."""
