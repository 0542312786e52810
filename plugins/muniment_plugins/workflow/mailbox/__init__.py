"""The mailbox of a running workflow: signals, updates, queries, pauses, going on as new."""
