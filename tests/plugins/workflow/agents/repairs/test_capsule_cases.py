"""Modules run in the capsule as they run elsewhere, and cases compare to the letter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import capsule_cases
from capsule_cases import judged, read_cases
from forged_modules import FORGED
from repairs import REPOSITORIES

SHOP = {
    "shop.py": '''"""A shop.

  Its docstring has lines.
"""
from __future__ import annotations

import re as expressions
from dataclasses import dataclass
from decimal import Decimal

import tax.rates as rates
import texts
from tax.rates import RATE as _rate
from tax.rates import of

LINES = """one
    two
"""
sold = 0
try:
    missing = int("x")
except ValueError:
    pass


@dataclass(frozen=True)
class Item:
    name: str
    price: Decimal = Decimal("1.50")


def sell(count: int) -> int:
    global sold
    sold += count
    return sold


def price(name):
    return Item(name).price + of(Item(name).price)


def all_of_it():
    return [rates.RATE == _rate, texts.shown("a b"), LINES, bool(expressions.match("a", "ab"))]


if __name__ == "__main__":
    print(sell(1))
''',
    "tax/rates.py": "from decimal import Decimal\nRATE = Decimal('0.1')\n"
    "def of(net):\n    return net * RATE\n",
    "texts.py": "def shown(text):\n    return text.title()\n",
    "unrelated.py": "import os, subprocess\n",
}


def case(call: str, *given: object, **said: object) -> dict[str, object]:
    """Return a case."""
    return {"call": call, "given": [*given], **said}


def found(*cases: Any, modules: Any = None) -> Any:
    """Return how cases come out."""
    return judged([*cases], SHOP if modules is None else modules)


def test_modules_import_each_other() -> None:
    """In packages and under other names; what no case leads to is not looked at."""
    assert found(
        case("shop:sell", 2, wanted=2),
        case("shop:sell", 3, wanted=5),
        case("shop:price", "tea", wanted="Decimal('1.650')"),
        case("shop:all_of_it", wanted=[True, "A B", "one\n    two\n", True]),
        case("tax.rates:of", 2, wanted="Decimal('0.2')"),
        case("shop:sell", "x", raises="TypeError"),
        case("shop:unknown", raises="KeyError"),
        case("shop:missing", raises="NameError"),
    ) == {"ok": True, "cases": 8, "wrong": []}


@pytest.mark.parametrize(
    ("wanted", "value", "is_held"),
    [
        (1, "1", True),
        (1, "True", False),
        (1, "1.0", False),
        (None, "None", True),
        ([1, 2], "(1, 2)", True),
        ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}", True),
        ("é", "'e\\u0301'", False),
        ("{1}", "{1}", True),
        (0, "-0.0", False),
    ],
)
def test_what_is_compared(wanted: object, value: str, is_held: bool) -> None:
    """JSON as it is; what JSON has no form for by its repr; nothing is nearly the same."""
    modules = {"m.py": f"def value():\n    return {value}\n"}
    assert found(case("m:value", wanted=wanted), modules=modules)["ok"] is is_held


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import os\n", "Import not allowed: os"),
        ("from . import sibling\n", ""),
        ("def value(:\n", "no Python"),
        ("def value():\n    return open('x')\n", "Forbidden call: open"),
        ("def value():\n    return float('nan')\n", ""),
    ],
)
def test_what_cannot_be_run(text: str, why: str) -> None:
    """Is no pass, and says why."""
    come = found(case("m:value", wanted=1), modules={"m.py": text})
    assert not come["ok"]
    assert why in come["error"]


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_module(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a module does to the process it runs in proves nothing: it returns no values."""
    monkeypatch.setattr(capsule_cases, "SECONDS", 0.3 if how == "never ends" else 10)
    paging = (REPOSITORIES / "paging" / "paging.py").read_text()
    cases = read_cases(REPOSITORIES / "paging" / "cases.json")
    assert not judged(cases, {"paging.py": f"{paging}\n\n{FORGED[how]}"})["ok"]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"call": "a", "wanted": 1}]',
        '[{"call": "a:b"}]',
        '[{"call": "a:b", "wanted": 1, "raises": "E"}]',
        "[",
        "",
    ],
)
def test_cases_that_say_nothing(tmp_path: Path, text: str) -> None:
    """A case that cannot fail, or names nothing, is refused."""
    (tmp_path / "cases.json").write_text(text)
    with pytest.raises(ValueError, match=r"case|Expecting"):
        read_cases(tmp_path / "cases.json")


def test_no_pipe_and_no_device_has_cases(tmp_path: Path) -> None:
    """What would be read for ever, or wait for a writer, is refused."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "device.json"):
        with pytest.raises(ValueError, match="it is no file"):
            read_cases(tmp_path / name)
