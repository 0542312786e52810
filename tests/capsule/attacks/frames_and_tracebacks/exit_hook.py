"""Has a with statement hand over the traceback, whose frames lead outside."""
# wants: read

class Catch:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        frame = trace.tb_frame
        while frame.f_back is not None:
            frame = frame.f_back
        self.found = frame.f_builtins["open"]
        return True


def fit_and_eval(data):
    with Catch() as catch:
        [][0]
    return {"got": catch.found(data["secret"]).read()}
