"""Forks whose members are odd JSON: found wrong, whatever they are, and never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broken_forks import ForkedWorld, forked
from forge import Forge, keyid
from muniment.verification.verify import verify

ODD: tuple[Any, ...] = (
    ...,
    None,
    True,
    -1,
    1.5,
    1.5e300,
    -1.5e300,
    2**53 - 1,
    "",
    "9" * 30,
    "\u0662\u0668",
    "x" * 300,
    [],
    [[]],
    ["x"],
    {},
    {"x": 1},
)
"""What stands in the place of a member; `...` leaves it out."""
NAMED = {"fork": "fork", "fork clock": "answered_by", "fork told 2": "answered_by"}
"""The events of the forged fork → the member that names something of the origin."""


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of *value*, and of all that is in it."""
    yield path
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in named:
            yield from places(one, *path, name)


def spelled(value: Any) -> list[Any]:
    """Return other spellings of *value*, which a conversion would take for it."""
    if isinstance(value, int):
        return [f"{value}", f" {value}", f"{value}\n", f"0{value}", value + 0.5]
    if isinstance(value, str):
        return [value.upper()] * (value != value.upper()) + [f"{value} ", [value]]
    if isinstance(value, dict):
        return [value | {"another": 1}, [value], [*value]]
    return [{}, "", dict.fromkeys(map(str, value))]


def put(data: dict[str, Any], path: tuple[Any, ...], other: Any) -> None:
    """Put *other* at *path*."""
    inside: Any = data
    for step in path[:-1]:
        inside = inside[step]
    if other is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = other


def written(
    at: Path, event: str, path: tuple[Any, ...], other: Any
) -> tuple[Path, str]:
    """Return a ledger in which *event* has *other* at *path*, and its root key."""
    forge = Forge("one").open()
    forked(event, lambda _, data: put(data, path, other))(forge)
    return forge.write(at), keyid(forge.key("root"))


def told(event: str) -> Any:
    """Return what the sound *event* says of the origin."""
    found: list[Any] = []
    forked(event, lambda _, data: found.append(data[NAMED[event]]))(Forge("one").open())
    return found[0]


@pytest.mark.parametrize("event", NAMED)
def test_each_member_times_each_odd_value(tmp_path: Path, event: str) -> None:
    """It is wrong; the start of a fork also where the rest is not compared."""
    sound, cases = told(event), 0
    for path in places(sound):
        old: Any = sound
        for step in path:
            old = old[step]
        for other in (*ODD, *spelled(old)):
            if other == old or (other is ... and not path):
                continue
            cases += 1
            at = (NAMED[event], *path)
            file, key = written(tmp_path / f"{cases}.db", event, at, other)
            for fast in (False, True) if event == "fork" else (False,):
                report = verify(file, keys=[key], fast=fast)
                if fast and isinstance(other, type(old)) and not report.findings:
                    continue  # of the form: what it names is not looked up
                assert report.exit_code == 1, f"{at} {other!r:.40} {fast}\n{report}"
    assert cases > 50


def test_changes_and_their_values_come_together(tmp_path: Path) -> None:
    """Values of no changes, and changes without values, are wrong: also if fast."""

    def bare(_: ForkedWorld, data: dict[str, Any]) -> None:
        data["fork"]["changes"] = []

    def valueless(_: ForkedWorld, data: dict[str, Any]) -> None:
        del data["changed"]

    for number, spoil in enumerate((bare, valueless)):
        forge = Forge("one").open()
        forked("fork", spoil)(forge)
        file = forge.write(tmp_path / f"{number}.db")
        for fast in (False, True):
            report = verify(file, keys=[keyid(forge.key("root"))], fast=fast)
            assert "fork/origin" in {one.rule for one in report.findings}, fast
