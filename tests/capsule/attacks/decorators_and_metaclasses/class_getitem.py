"""Calls a function through the brackets of a class."""
# wants: read

class Files:
    def __class_getitem__(cls, path):
        return open(path).read()


def fit_and_eval(data):
    return {"got": Files[data["secret"]]}
