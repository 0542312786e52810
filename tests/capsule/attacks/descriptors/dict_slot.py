"""Names a slot like the table of attributes, and gets a writable one."""
# wants: inside

class Box:
    __slots__ = ("__dict__",)


def fit_and_eval(data):
    box = Box()
    box.__dict__ = {"os": __import__("os")}
    return {"got": box.os.environ["STAGE_INNER"]}
