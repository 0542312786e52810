"""Takes the member of a slot from a class table and reads another object with it."""
# wants: inside

class Box:
    __slots__ = ("env",)


def fit_and_eval(data):
    import os

    member = Box.__dict__["env"]
    box = Box()
    member.__set__(box, os.environ)
    return {"got": member.__get__(box)["STAGE_INNER"]}
