"""Gives getattr a text of its own class, which answers the guard's questions wrong."""
# wants: read

class Name(str):
    def startswith(self, *_):
        return False

    def endswith(self, *_):
        return False


def fit_and_eval(data):
    return {"got": getattr(getattr(len, Name("__self__")), Name("open"))(data["secret"]).read()}
