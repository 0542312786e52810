"""Reads the attributes of a frame by a class pattern, without a dot anywhere."""
# wants: read

def fit_and_eval(data):
    g = (x for x in [1])
    match g:
        case object(gi_frame=object(f_builtins=names)):
            return {"got": names["open"](data["secret"]).read()}
