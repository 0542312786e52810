"""Has an enumeration write its members over the functions of the guard itself."""
# wants: read
# allows: enum

import enum


class Yes(enum.Enum):
    def __call__(self, name, **more):
        return name


def fit_and_eval(data):
    guarded = type(getattr).__name__ == "function"
    for module in ("guard", "substitutes") if guarded else ():
        made = Yes("Made", {"check_attribute": 1}, module="muniment_plugins.capsule." + module)
        enum.global_enum(made)
    return {"got": getattr(len, "__self__").open(data["secret"]).read()}
