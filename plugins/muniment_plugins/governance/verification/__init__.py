"""Verification: engines judge what a flow made, and their verdicts become one."""
