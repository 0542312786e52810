"""Statistics: tests, intervals, and the judgement of a claim."""
