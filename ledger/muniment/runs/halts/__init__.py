"""What ends a run, or refuses an effect, whatever its program makes of it."""
