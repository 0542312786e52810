"""Exact decimals, dates, regular expressions and JSON together."""
import re, json, datetime
from decimal import Decimal, ROUND_HALF_UP
from fractions import Fraction
from datetime import timedelta
from enum import Enum
from typing import NamedTuple, Optional

class Color(Enum):
    RED = 1
    BLUE = 2

class Pair(NamedTuple):
    a: int
    b: Optional[int] = None

def fit_and_eval(data):
    when = datetime.datetime.strptime("2026-11-20 07:00", "%Y-%m-%d %H:%M") + timedelta(hours=30)
    return {"dec": str(Decimal("2.675").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)),
            "frac": str(Fraction(1, 3) + Fraction(1, 6)), "when": when.isoformat(),
            "re": re.findall(r"(\w)(\d)", "a1 b2"), "sub": re.sub("a+", lambda m: "<" + m.group() + ">", "baab"),
            "json": json.loads(json.dumps({"a": [1, 2.5, None]}, sort_keys=True)),
            "enum": Color.RED.name, "pair": Pair(1)}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'dec': '2.68',
 'frac': '1/2',
 'when': '2026-11-21T13:00:00',
 're': [['a', '1'], ['b', '2']],
 'sub': 'b<aa>b',
 'json': {'a': [1, 2.5, None]},
 'enum': 'RED',
 'pair': [1, None]}
