"""Gives a class a plain function as metaclass, so that a class statement calls it."""
# wants: read

def opened(name, bases, table):
    return open(table["path"]).read()


def fit_and_eval(data):
    class Text(metaclass=opened):
        path = data["secret"]

    return {"got": Text}
