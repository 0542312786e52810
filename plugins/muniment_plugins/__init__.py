"""The plugins that come in the box; none has a privilege that a stranger lacks."""
