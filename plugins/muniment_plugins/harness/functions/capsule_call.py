"""How the capsule calls a function of which only the source is left.

    lowered(([1, 2], ctx), {"limit": 3})    plain data, from which the frame around the
                                            source makes arguments
    received({"tuple": [{"is": 1}, …]})     (1, …), as the function returned it

Rules:

- A context arrives as a dict, a claim and a spec with their members as attributes. A
  function within a context stays outside: its name is there, and cannot be called.
- Plain values come back with the exact types that the function returned. Others, such
  as arrays, are refused: what they would become does not tell what they were.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import cast

from muniment.encoding.codec import encode
from muniment_plugins.harness.claim import Claim, Spec
from muniment_plugins.harness.functions.handouts import Told

__all__ = ["ENTRY", "framed", "lowered", "received"]

ENTRY = "called_again"

_FRAME = """

class GivenFrozen:
    def __init__(self, kind, members):
        if kind == "Claim":
            self.id, self.text = members["id"], members["text"]
            self.acceptance = given_frozen(members["acceptance"])
        else:
            self.allowed_imports = given_frozen(members["allowed_imports"])
            self.properties = given_frozen(members["properties"])
            self.contracts = given_frozen(members["contracts"])
            self.resources = given_frozen(members["resources"])
            self.allow_non_finite = members.get("allow_non_finite", False)
            self.syntax = members.get("syntax", "narrow")


class GivenOutside:
    def __call__(self, *arguments, **named):
        raise TypeError("a function of the context stays outside the capsule")


def given_frozen(value):
    if type(value) is list or type(value) is tuple:
        return tuple([given_frozen(one) for one in value])
    if type(value) is dict:
        return {key: given_frozen(value[key]) for key in value}
    return value


def given_whole(sent):
    kind, value = sent
    if kind == "context":
        return {name: given_whole(one) for name, one in value}
    if kind == "function":
        return GivenOutside()
    return value if kind == "value" else GivenFrozen(kind, value)


def sent_whole(value):
    kind = type(value)
    if kind is tuple or kind is list:
        return {kind.__name__: [sent_whole(one) for one in value]}
    if kind is dict:
        return {"dict": [[sent_whole(key), sent_whole(value[key])] for key in value]}
    if value is None or kind in (bool, int, float, str):
        return {"is": value}
    raise TypeError("a " + kind.__name__ + " does not leave the capsule as it is")


def called_again(data):
    arguments = [given_whole(one) for one in data[0]]
    named = {name: given_whole(one) for name, one in data[1]}
    return {"whole": sent_whole(NAME(*arguments, **named))}
"""


def framed(function: ast.FunctionDef) -> str:
    """Return *function* as a program whose entrypoint calls it."""
    return ast.unparse(function) + _FRAME.replace("NAME", function.name)


def lowered(arguments: tuple[object, ...], named: Mapping[str, object]) -> object:
    """Return the arguments in the form that the program takes.

    Raises:
        ValueRefused: one has no exact form.

    """
    sent = [
        [_lowered(one) for one in arguments],
        [[name, _lowered(one)] for name, one in named.items()],
    ]
    encode(sent)
    return sent


def _lowered(value: object) -> list[object]:
    if isinstance(value, Claim | Spec):
        return [type(value).__name__, value.to_json()]
    if isinstance(value, Told):
        known = value.known.items()
        return ["context", [[name, _lowered(one)] for name, one in known]]
    if isinstance(value, Mapping):  # samples, too
        members = dict(cast("Mapping[str, object]", value))
        return ["value", members]
    return ["function", None] if callable(value) else ["value", value]


def received(sent: object) -> object:
    """Return what the function in the capsule returned."""
    ((kind, told),) = cast("Mapping[str, object]", sent).items()
    if kind == "is":
        return told
    parts = cast("list[object]", told)
    if kind == "dict":
        pairs = (cast("list[object]", one) for one in parts)
        return {received(key): received(value) for key, value in pairs}
    items = [received(one) for one in parts]
    return tuple(items) if kind == "tuple" else items
