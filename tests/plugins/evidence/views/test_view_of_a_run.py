"""The view of a bundle says what its events say: all three verifiers derive it again.

The key holder writes another view, and closes the bundle over it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bundled import evidence_plugins
from muniment import verify_bundle
from muniment.formats.lifecycle import BEGINNINGS, ENDS, FINAL, OPEN
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.verification.page.run_view import LAST_STATUSES, STATUS_AFTER
from muniment_plugins.evidence import bundle as writing
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.files import views
from three_verifiers import NEEDS_NODE, Verifiers, verifiers

pytestmark = NEEDS_NODE
View = dict[str, Any]
DEFAULTS: tuple[object, ...] = (None, 0, "", {}, [])


def test_ends_mean_what_they_mean_in_the_kernel() -> None:
    """The view spells them again, for verifiers that import nothing of muniment."""
    assert {**dict.fromkeys(BEGINNINGS, OPEN), **ENDS} == STATUS_AFTER
    assert {ENDS[one] for one in FINAL} == {*LAST_STATUSES}


def _program(run: Run, kind: str = "failed") -> object:
    run.effect("tool", {"q": 1}, lambda asked: asked)
    with run.scope("map/0") as lane:
        lane.effect("llm", {"q": 2}, lambda _: "said")
    if kind == "failed":
        run.mark("non_certifiable", "made up")
        run.mark("odd", "made up, too")
        raise ValueError("it failed")
    if kind == "interrupted":
        raise KeyboardInterrupt
    return kind


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger with runs of each kind, with labels whose names are odd."""
    base = tmp_path_factory.mktemp("view")
    with Ledger.create(
        base / "ledger.db", home=base / "home", plugins=evidence_plugins()
    ) as made:
        labels = {"10": "é\u2028\x7f", "2": '"\\', "a": "", "__proto__": "x"}
        for kind in ("failed", "completed", "interrupted"):
            try:
                made.execute(_program, params={"kind": kind}, labels=labels, name="ü")
            except KeyboardInterrupt:
                assert kind == "interrupted"
        yield made


@pytest.fixture(scope="module")
def three(ledger: Ledger) -> Iterator[Verifiers]:
    """Lend the three verifiers, told the root."""
    root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
    with verifiers(root, Path(ledger.path).parent / "nobody") as found:
        yield found


def _runs(ledger: Ledger) -> list[str]:
    return [str(one.run) for one in ledger.events(type="run.started")]


def _written(
    ledger: Ledger,
    place: Path,
    changed: Callable[[View], object],
    run: int = 0,
    **options: Any,
) -> Path:
    """Write a bundle whose view was *changed* before it was closed."""

    def forged(selected: Any) -> dict[str, bytes]:
        found = views(selected)
        told = changed(json.loads(found["run.json"]))
        text = told if isinstance(told, str) else json.dumps(told, indent=2)
        return {**found, "run.json": text.encode() + b"\n"}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writing, "views", forged)
        patched.setattr(writing, "check_written", lambda *_: None)
        return write_bundle(ledger, _runs(ledger)[run], place, **options).path


def _others(value: object) -> Iterator[object]:
    """Yield values that are others than *value*, of its type and of another."""
    if isinstance(value, bool) or value is None:
        yield from (0, "", "x", {}, [])
    elif isinstance(value, int):
        yield from (value + 1, str(value), None, bool(value))
    elif isinstance(value, str):
        yield from (f"{value}.", "completed", None, [value])
    elif isinstance(value, list):
        yield from (value[1:], value[::-1], [*value, "x"], None)
    elif isinstance(value, Mapping):
        yield from ({**value, "x": 1}, dict([*value.items()][1:]), None)
        for name, one in value.items():
            yield {**value, name: next(_others(one))}


HOW: Mapping[str, dict[str, Any]] = {"whole": {}, "redacted": {"disclose": []}}


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_each_member_is_compared(
    ledger: Ledger, three: Verifiers, tmp_path: Path, how: str
) -> None:
    """Another value of any member, or none, is wrong, whoever verifies it."""
    first = _written(ledger, tmp_path / "x", dict, **HOW[how])
    honest = json.loads((first / "run.json").read_text())
    assert len(honest) >= 22 + (how == "redacted")
    tried = 0
    for name, value in honest.items():
        others = [one for one in _others(value) if json.dumps(one) != json.dumps(value)]
        for other in others if how == "whole" else others[:1]:
            place = tmp_path / f"{tried}"
            path = _written(ledger, place, _with(name, other), **HOW[how])
            codes, said = three.codes(path)
            assert codes == (1, 1, 1), (name, other, codes, said)
            assert "bundle/view run.json" in said
            tried += 1
        place = tmp_path / f"without-{name}"
        codes, said = three.codes(_written(ledger, place, _without(name), **HOW[how]))
        empty = value in DEFAULTS and name != "status"
        assert codes == ((0, 0, 0) if empty else (1, 1, 1)), (name, codes, said)
    assert tried > (60 if how == "whole" else 20)


def _with(name: str, other: object) -> Callable[[View], View]:
    return lambda told: {**told, name: other}


def _without(name: str) -> Callable[[View], View]:
    return lambda told: {one: told[one] for one in told if one != name}


ODD: Mapping[str, Callable[[View], object]] = {
    "no object": lambda told: [told],
    "no JSON": lambda told: json.dumps(told)[:-1],
    "no number": lambda told: json.dumps({**told, "events": float("nan")}),
    "a name twice": lambda told: '{"status": "completed",' + json.dumps(told)[1:],
    "a name twice below": lambda told: json.dumps(told).replace(
        '"types": {', '"types": {"run.started": 7, '
    ),
    "a name twice, spelled otherwise": lambda told: (
        '{"st\\u0061tus": "completed",' + json.dumps(told)[1:]
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_read_in_two_ways_is_wrong(
    ledger: Ledger, three: Verifiers, tmp_path: Path, what: str
) -> None:
    """A view that is no object, or that two readers would read differently."""
    codes, said = three.codes(_written(ledger, tmp_path / "x", ODD[what]))
    assert codes == (1, 1, 1), said


def test_what_is_not_known_cannot_be_told(
    ledger: Ledger, three: Verifiers, tmp_path: Path
) -> None:
    """A member of a later muniment is named; what else is wrong is wrong all the same."""
    more = _written(ledger, tmp_path / "more", lambda told: {**told, "verified": True})
    codes, said = three.codes(more)
    assert codes == (3, 3, 3), said
    report = verify_bundle(more, keys=[three.root], home=three.home)
    assert any("verified" in one.message for one in report.findings)
    worse = {"verified": True, "status": "completed"}
    both = _written(ledger, tmp_path / "both", lambda told: {**told, **worse})
    codes, said = three.codes(both)
    assert codes == (1, 1, 1), said


@pytest.mark.parametrize("run", range(3))
@pytest.mark.parametrize("options", [{}, {"disclose": []}, {"raw": True}])
def test_an_honest_view_is_taken(
    ledger: Ledger, three: Verifiers, tmp_path: Path, run: int, options: dict[str, Any]
) -> None:
    """Of a run that failed, completed, or was cut off; whole, redacted and raw."""
    path = write_bundle(ledger, _runs(ledger)[run], tmp_path / "x", **options).path
    codes, said = three.codes(path)
    assert codes == (0, 0, 0), said
