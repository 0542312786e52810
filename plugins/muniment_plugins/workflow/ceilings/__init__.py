"""What may be done at most: levels, policies, their intersection, approvals."""
