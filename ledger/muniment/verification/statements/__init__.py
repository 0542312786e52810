"""One row of the log: the statement in it, rule by rule."""
