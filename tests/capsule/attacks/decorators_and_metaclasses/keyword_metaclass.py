"""Passes the metaclass in a mapping, where no keyword is written."""
# wants: read

def opened(name, bases, table):
    return open(table["path"]).read()


def fit_and_eval(data):
    class Text(**{"metaclass": opened}):
        path = data["secret"]

    return {"got": Text}
