"""Throws into a generator and catches there, with the caller's frame in the traceback."""
# wants: read

def catcher():
    try:
        yield
    except ValueError as error:
        yield error.__traceback__.tb_frame.f_back


def fit_and_eval(data):
    g = catcher()
    next(g)
    frame = g.throw(ValueError())
    found = frame.f_globals["__builtins__"]
    o = found["open"] if isinstance(found, dict) else found.open
    return {"got": o(data["secret"]).read()}
