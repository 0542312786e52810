"""What a run waits for, without keeping a process."""
