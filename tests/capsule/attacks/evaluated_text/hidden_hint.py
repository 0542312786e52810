"""Puts the text of an annotation together, so that no one can read it before."""
# wants: write
# allows: typing

import typing


def fit_and_eval(data):
    text = "__imp" + "ort__('os').mkdir(" + repr(data["place"] + "/new") + ") or int"

    class Model:
        x: text

    return {"got": str(typing.get_type_hints(Model))}
