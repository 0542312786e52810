"""What hosts and editors hand over, as artifacts: thirteen helpers, and handoffs."""
