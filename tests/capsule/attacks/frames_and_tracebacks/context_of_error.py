"""Finds an exception in the context of another, without a name for it."""
# wants: read

def fit_and_eval(data):
    try:
        try:
            1 / 0
        finally:
            [][1]
    except IndexError as error:
        frame = error.__context__.__traceback__.tb_frame
        return {"got": frame.f_builtins["open"](data["secret"]).read()}
