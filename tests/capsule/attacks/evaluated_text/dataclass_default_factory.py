"""Has the methods of a dataclass call open as the factory of a field."""
# wants: write
# allows: dataclasses

import dataclasses


def fit_and_eval(data):
    @dataclasses.dataclass
    class Maker:
        stream: object = dataclasses.field(
            default_factory=lambda: open(data["place"] + "/new", "w")
        )

    Maker()
    return {}
