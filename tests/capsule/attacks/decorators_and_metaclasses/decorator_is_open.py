"""Decorates a function with open, by a function that returns the path."""
# wants: write

def fit_and_eval(data):
    def path_of(f):
        return data["place"] + "/new"

    def writing(path):
        return open(path, "w")

    @writing
    @path_of
    def name():
        pass

    return {}
