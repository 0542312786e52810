"""Reads the frame of an asynchronous generator, which has attributes of its own."""
# wants: read

async def steps():
    yield 1


def fit_and_eval(data):
    return {"got": steps().ag_frame.f_builtins["open"](data["secret"]).read()}
