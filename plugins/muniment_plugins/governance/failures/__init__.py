"""Why runs fail: classes, reason codes, and the events that cause failures."""
