"""What a stage is given, calls and leaves behind, and what it may do."""
