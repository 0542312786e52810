"""Abstract classes with abstract properties, templates and registered collections."""
from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableSequence, Sequence


class Estimator(ABC):
    def __init__(self):
        self.fitted = False

    @abstractmethod
    def fit(self, values):
        """Learn from values."""

    @property
    @abstractmethod
    def name(self):
        """Say who this is."""

    @staticmethod
    def check(values):
        if not values:
            raise ValueError("no values")
        return values

    def fit_predict(self, values):
        self.fit(self.check(values))
        self.fitted = True
        return self.predict()

    @abstractmethod
    def predict(self): ...


class Mean(Estimator):
    name = "mean"

    def fit(self, values):
        self.value = sum(values) / len(values)

    def predict(self):
        return self.value


class Trimmed(Mean):
    @property
    def name(self):
        return "trimmed " + super().name

    def fit(self, values):
        super().fit(sorted(values)[1:-1])


class Rows(Sequence):
    def __init__(self, *rows):
        self._rows = rows

    def __getitem__(self, index):
        return self._rows[index]

    def __len__(self):
        return len(self._rows)


class Frozen(Mapping):
    def __init__(self, **items):
        self._items = items

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)


class Log(MutableSequence):
    def __init__(self):
        self.items = []

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, value):
        self.items[i] = value

    def __delitem__(self, i):
        del self.items[i]

    def __len__(self):
        return len(self.items)

    def insert(self, i, value):
        self.items.insert(i, value)


def fit_and_eval(data):
    estimators = [Mean(), Trimmed()]
    rows = Rows("a", "b", "c", "b")
    frozen = Frozen(x=1, y=2)
    log = Log()
    log.append(1)
    log.extend([2, 3])
    log.remove(2)
    return {
        "predictions": {e.name: e.fit_predict([1, 2, 3, 100]) for e in estimators},
        "fitted": [e.fitted for e in estimators],
        "rows": [rows.index("b"), rows.count("b"), "c" in rows, list(reversed(rows))],
        "frozen": [dict(frozen), frozen.get("z", 0), frozen == {"x": 1, "y": 2}, list(frozen.items())],
        "log": list(log),
        "subclass": issubclass(Trimmed, Estimator) and not issubclass(Rows, Estimator),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'predictions': {'mean': 26.5, 'trimmed mean': 2.5},
 'fitted': [True, True],
 'rows': [1, 2, True, ['b', 'c', 'b', 'a']],
 'frozen': [{'x': 1, 'y': 2}, 0, True, [['x', 1], ['y', 2]]],
 'log': [1, 3],
 'subclass': True}
