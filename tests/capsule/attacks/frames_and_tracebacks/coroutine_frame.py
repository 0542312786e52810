"""Reads the frame of a coroutine, which no rule about generators mentions."""
# wants: read

async def coro():
    return 1


def fit_and_eval(data):
    c = coro()
    found = c.cr_frame.f_builtins["open"](data["secret"]).read()
    c.close()
    return {"got": found}
