"""Several bases, a method resolution order, and cooperative super()."""
class Base:
    def __init__(self, **kwargs):
        self.log = ["Base"]
        self.extra = kwargs

    def describe(self):
        return "base"


class Named(Base):
    def __init__(self, name, **kwargs):
        super().__init__(**kwargs)
        self.name = name
        self.log.append("Named")

    def describe(self):
        return f"named({self.name}) < {super().describe()}"


class Weighted(Base):
    def __init__(self, weight=1.0, **kwargs):
        super().__init__(**kwargs)
        self.weight = weight
        self.log.append("Weighted")

    def describe(self):
        return f"weighted({self.weight}) < {super().describe()}"


class Item(Named, Weighted):
    instances = 0

    def __init__(self, name, weight):
        super().__init__(name=name, weight=weight, colour="red")
        Item.instances += 1


def fit_and_eval(data):
    items = [Item(f"item{i}", i * 0.5) for i in data]
    first = items[0]
    return {
        "log": first.log,
        "describe": first.describe(),
        "extra": first.extra,
        "count": Item.instances,
        "is": [isinstance(first, c) for c in (Base, Named, Weighted, int)],
        "sub": issubclass(Item, Weighted),
        "total": sum(item.weight for item in items),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'log': ['Base', 'Weighted', 'Named'],
 'describe': 'named(item1) < weighted(0.5) < base',
 'extra': {'colour': 'red'},
 'count': 5,
 'is': [True, True, True, False],
 'sub': True,
 'total': 7.5}
