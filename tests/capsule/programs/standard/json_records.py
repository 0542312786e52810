"""JSON: writing, reading, defaults, hooks and nested records."""
import json
from dataclasses import asdict, dataclass
from datetime import date


@dataclass
class User:
    name: str
    born: date
    tags: list


class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, date):
            return o.isoformat()
        if isinstance(o, set):
            return sorted(o)
        return super().default(o)


def walk(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{path}/{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from walk(item, f"{path}/{i}")
    else:
        yield path, value


def fit_and_eval(data):
    user = User("Zoë", date(1990, 1, 2), ["a", "b"])
    text = json.dumps(asdict(user), cls=Encoder, ensure_ascii=False, sort_keys=True)
    nested = json.loads('{"a": {"b": [1, {"c": true}]}, "d": null, "e": 1.5e3}')
    return {
        "text": text,
        "ascii": json.dumps({"k": "é"}),
        "compact": json.dumps([1, 2, {"a": None}], separators=(",", ":")),
        "indent": json.dumps({"b": 1, "a": [True]}, indent=2, sort_keys=True),
        "back": json.loads(text)["born"],
        "paths": dict(walk(nested)),
        "hook": json.loads('{"x": 1, "y": 2}', object_hook=lambda d: sum(d.values())),
        "pairs": json.loads('{"b": 1, "a": 2}', object_pairs_hook=list),
        "parse_float": json.loads("1.10", parse_float=str),
        "default": json.dumps({1, 2}, default=sorted),
        "set": json.dumps({3, 1}, cls=Encoder),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'text': '{"born": "1990-01-02", "name": "Zoë", "tags": ["a", "b"]}',
 'ascii': '{"k": "\\u00e9"}',
 'compact': '[1,2,{"a":null}]',
 'indent': '{\n  "a": [\n    true\n  ],\n  "b": 1\n}',
 'back': '1990-01-02',
 'paths': {'/a/b/0': 1, '/a/b/1/c': True, '/d': None, '/e': 1500.0},
 'hook': 3,
 'pairs': [['b', 1], ['a', 2]],
 'parse_float': '1.10',
 'default': '[1, 2]',
 'set': '[1, 3]'}
