"""Walks from the frame of its own generator to the host that runs it."""
# wants: read

def fit_and_eval(data):
    def walk():
        frame = g.gi_frame.f_back
        while frame.f_back is not None:
            frame = frame.f_back
        yield frame.f_builtins["open"]

    g = walk()
    return {"got": next(g)(data["secret"]).read()}
