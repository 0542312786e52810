"""What each mode of a run does with a fact, a request, an outcome and the end."""
