"""Raises an exception whose class has a very long name."""
# wants: output

def fit_and_eval(data):
    raise type("E" * 100_000, (Exception,), {})
