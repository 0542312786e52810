"""What a run keeps private."""
