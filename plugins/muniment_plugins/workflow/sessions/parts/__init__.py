"""The parts of messages: calls of tools, and what is private."""
