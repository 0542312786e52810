"""Raises an exception and takes the frame of it, which knows the built-in names."""
# wants: read

def fit_and_eval(data):
    try:
        1 / 0
    except ZeroDivisionError as error:
        frame = error.__traceback__.tb_frame
        while frame.f_back is not None:
            frame = frame.f_back
        return {"got": frame.f_builtins["open"](data["secret"]).read()}
