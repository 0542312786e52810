"""What can be recorded: event types, effect kinds, and the fields of both."""
