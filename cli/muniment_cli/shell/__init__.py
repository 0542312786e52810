"""Reading, running and ending a command line."""
