"""What an eval sees of a run: its stages, by digest, without paths and clocks."""
