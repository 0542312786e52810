"""Has the compiler write a forbidden name, by the mangling of private ones."""
# wants: read

class __import__:
    pass


class _:
    def go(self, path):
        return _.__builtins(path)


def fit_and_eval(data):
    _._ = None
    setattr(_, "____builtins", lambda p: open(p).read())
    return {"got": getattr(_, "____builtins")(data["secret"])}
