"""What a record is held against: the forms of facts, the graph of its run, its own table."""
