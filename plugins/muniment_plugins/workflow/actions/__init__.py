"""Action graphs: what planners write, in one form, as batches, and as a graph that runs."""
