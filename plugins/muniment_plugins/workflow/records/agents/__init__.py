"""What models that call tools did, folded from events and viewed."""
