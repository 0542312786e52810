"""The steps of a pipeline: claim, spec, code, execution, and the user's own."""
