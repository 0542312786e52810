"""Has a text evaluated that stands in the class for names that come later."""
# wants: write
# allows: typing

import typing


def fit_and_eval(data):
    def f():
        pass

    f.__annotations__["x"] = typing.ForwardRef("__import__('os').mkdir(path) or int")
    typing.get_type_hints(f, {"path": data["place"] + "/new"})
    return {}
