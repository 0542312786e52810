"""Names a class by a text with a colon in it, which the decorator of data looks up."""
# wants: inside
# allows: dataclasses

import dataclasses


def fit_and_eval(data):
    @dataclasses.dataclass
    class Point:
        x: "dataclasses.sys.modules"

    modules = dataclasses.sys.modules
    return {"got": modules["os"].environ["STAGE_INNER"], "n": Point(1).x}
