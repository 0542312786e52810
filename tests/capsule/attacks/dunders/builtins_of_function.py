"""Takes the built-in names from the attribute that functions have for them."""
# wants: read

def fit_and_eval(data):
    return {"got": fit_and_eval.__builtins__["open"](data["secret"]).read()}
