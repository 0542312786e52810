"""JSON values and bytes: RFC 8785, and Python values exactly."""
