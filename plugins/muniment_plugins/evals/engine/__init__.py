"""An eval as a run: what it reads is an effect, what it finds are facts."""
