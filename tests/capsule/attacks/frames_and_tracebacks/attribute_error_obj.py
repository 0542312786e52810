"""Gets a forbidden object back from the error that said that it has no such attribute."""
# wants: read

def fit_and_eval(data):
    try:
        "{0.__self__.nothing}".format(len)
    except AttributeError as error:
        return {"got": error.obj.open(data["secret"]).read()}
