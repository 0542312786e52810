"""Puts a function into the table of its own built-in names."""
# wants: read

def fit_and_eval(data):
    names = fit_and_eval.__builtins__
    names["opened"] = names["__import__"]("io").open
    return {"got": opened(data["secret"]).read()}
