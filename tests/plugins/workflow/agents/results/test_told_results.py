"""What tools return is told to a model from the record, the same in each process."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # it has none
import pytest
from hypothesis import example, given, settings

from drawn_values import TYPES, VALUES, Colour, Ticket
from muniment.encoding.canonical import canonical, parse
from muniment.encoding.codec import encode, settle
from muniment.errors import ValueRefused
from muniment_plugins.workflow.agents.loop.told import told_text

TELLER = """
import sys
from drawn_values import TYPES
from muniment.encoding.canonical import parse
from muniment.encoding.codec import decode
from muniment_plugins.workflow.agents.loop.told import told_text
for line in sys.stdin:
    told = told_text(decode(parse(line.encode()), TYPES), TYPES)
    print(told.encode("utf-8").hex(), flush=True)
"""
SEEDS = ("1", "2")
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


@pytest.fixture(scope="module")
def tellers() -> Iterator[list[Callable[[object], str]]]:
    """Give what tells a value in processes of other hash seeds."""
    path = os.pathsep.join(one for one in sys.path if one)
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", TELLER],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for seed in SEEDS
    ]

    def teller(one: Any) -> Callable[[object], str]:
        def tell(value: object) -> str:
            one.stdin.write(canonical(encode(value, TYPES)) + b"\n")
            one.stdin.flush()
            return bytes.fromhex(one.stdout.readline().decode().strip()).decode()

        return tell

    yield [teller(one) for one in begun]
    for one in begun:
        one.communicate(timeout=60)


@given(value=VALUES)
@example(value=frozenset(WORDS))
@example(value={"k": [({"x": set(WORDS)},)]})
@example(value={("x", "y"): set(WORDS), 1: 2})
@example(value=Ticket(frozenset(WORDS), {None: 1, (): 2}))
@settings(deadline=None)
def test_told_the_same_everywhere(
    tellers: list[Callable[[object], str]], value: object
) -> None:
    """Whatever can be recorded is told, in each process in the same words."""
    told = told_text(settle(value, TYPES), TYPES)
    told.encode()
    assert not re.search(r" at 0x[0-9a-f]{6,}>", told)
    assert [tell(value) for tell in tellers] == [told] * len(tellers)


@pytest.mark.parametrize(
    "value",
    [
        *("text", 1, None, True, [1, {"a": 2.5}], {"b": 1, "a": "é"}),
        *((1, 2), {"a": (1, (2,))}, {1: 2, "b": [1]}, {None: 1, True: 2}),
        *(Decimal("1.50"), [dt.date(2020, 1, 1)], b"x", {"a": b"x"}, complex(1, 2)),
        *(2**60, float("nan"), [float("inf")], dt.timedelta(1), 3.0),
        *(Colour.RED, Ticket(1, ("a",)), [Ticket({"a": Decimal(1)})]),
        pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_told_as_ever(value: object) -> None:
    """What was told in the same words before still is, so records of it replay."""
    twin = settle(value, TYPES)
    try:
        before = canonical(twin).decode()  # type: ignore[arg-type]
    except ValueRefused:
        before = json.dumps(twin, default=str, ensure_ascii=False)
    assert told_text(twin, TYPES) == (value if isinstance(value, str) else before)


def test_a_wide_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """How wide a terminal is changes nothing of what a model is told."""
    table = pd.DataFrame({f"column {number}": [number] * 99 for number in range(40)})
    told = set()
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        told.add(told_text(table, TYPES))
    assert len(told) == 1


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"b", "a"}, {"$set": ["a", "b"]}),
        ([frozenset({2, 1})], [{"$frozenset": [1, 2]}]),
        ({("x", 1): 2}, {"$map": [[{"$tuple": ["x", 1]}, 2]]}),
        (({"k": {(): 1}},), [{"k": {"$map": [[{"$tuple": []}, 1]]}}]),
    ],
    ids=["set", "frozenset", "pairs", "inside"],
)
def test_in_its_recorded_form(value: object, told: object) -> None:
    """What has no text of its own, or no place in JSON, is told as the record has it."""
    assert json.loads(told_text(value, TYPES)) == told
    assert parse(told_text(value, TYPES).replace(", ", ",").encode())


PROGRAM = """
import dataclasses, datetime, decimal, enum, os, pathlib, sys, uuid
import numpy
from pathlib import Path
from muniment import hookimpl, replay
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import agent_loop, tool_define, tool_registry

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")

class Odd(enum.Enum):
    A = frozenset(WORDS)

@dataclasses.dataclass
class Unknown:
    x: object = 1

class Mapped(dict): pass
class Texts(str): pass

VALUES = {
    "sets": lambda: set(WORDS), "inside": lambda: {"k": [frozenset(WORDS), ({1, 2},)]},
    "pairs": lambda: {("x", "y"): 1}, "mixed": lambda: {1: {(): set(WORDS)}, "b": None},
    "bytes": lambda: {"a": b"x"}, "binary keys": lambda: {b"x": 1},
    "dates": lambda: [datetime.date(2020, 1, 1)], "number": lambda: decimal.Decimal("1.50"),
    "nan": lambda: float("nan"), "nan keys": lambda: {float("nan"): 1, (1,): 2},
    "object": object, "lists of objects": lambda: [object()], "keys": lambda: {object(): 1},
    "dataclass": Unknown, "enum": lambda: Odd.A, "path": lambda: pathlib.Path("x"),
    "mapped": lambda: Mapped(a=1), "texts": lambda: Texts("x"), "half": lambda: "\\ud800",
    "generator": lambda: (one for one in WORDS), "type": lambda: dict,
    "function": lambda: print, "array": lambda: numpy.arange(3), "scalar": lambda: numpy.float64(1),
    "views": lambda: {"a": 1}.keys(), "uuid": lambda: {uuid.UUID(int=1): 1},
    "deep": lambda: eval("[" * 80 + "]" * 80), "error": lambda: ValueError(set(WORDS)),
}

def dies():
    if not os.path.exists("died"):
        open("died", "w").close()
        os._exit(9)
    return "alive"

class Model:
    @hookimpl
    def complete_prompt(self, request):
        turn = 1 + sum(one["role"] == "assistant" for one in request["messages"])
        names = {1: [*VALUES], 2: ["dies"]}.get(turn)
        if names is None:
            return {"text": "done"}
        called = [
            {"id": f"c{turn}-{n}", "name": name.replace(" ", "_"), "arguments": {}}
            for n, name in enumerate(names)
        ]
        return {"text": "", "tool_calls": called}

def main(run):
    made = tool_registry()
    for name, call in {**VALUES, "dies": dies}.items():
        said = {
            "parameters": {},
            "handler": lambda call=call: call(),
            "policy": {"side_effect_level": "read_only"},
        }
        made = tool_define(made, name.replace(" ", "_"), "d", said)
    done = agent_loop(run, "go", model="test:a", tools=made)
    return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

plugins = Plugins(("workflow",), extra={"model": Model()})
where = {"home": Path("home"), "plugins": plugins}
if sys.argv[1] == "begin":
    with Ledger.create(Path("l.db"), **where) as book:
        book.execute(main)
with Ledger.open(Path("l.db"), **where) as book:
    (run,) = book.runs()
    if sys.argv[1] == "resume":
        done = book.resume(run.id, program=main)
        print(done.status, done.error, len(done.result))
        print("\\n".join(one for one in done.result if "TypeError" in one))
    else:
        print(replay(book, run.id, program=main).verdict)
"""


def test_a_loop_goes_on_elsewhere(tmp_path: Path) -> None:
    """A killed loop is resumed, and replayed, by processes that order sets otherwise.

    What is no value is an error of its call, and no result ends the run.
    """
    (tmp_path / "told.py").write_text(PROGRAM)

    def told(seed: str, what: str) -> tuple[int, str]:
        found = subprocess.run(
            [sys.executable, "told.py", what],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        return found.returncode, found.stdout.strip() + found.stderr[-2000:]

    assert told("1", "begin") == (9, "")
    assert told("2", "resume") == (0, "completed None 29")
    assert told("3", "replay") == (0, "acceptable")
