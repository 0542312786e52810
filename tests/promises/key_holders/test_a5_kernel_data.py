"""What a writer would have refused of a kernel event, the verifier finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge
from muniment.events.fields import PlainData, fields_of
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.format_versions import DECISIONS, KERNEL_DATA
from muniment.ledger import Ledger
from muniment.verification.statements.kernel_data import KERNEL
from muniment.verification.verify import verify

DECLARED: dict[str, type[PlainData]] = {
    one.name: one.model
    for one in KERNEL_TYPES
    if issubclass(one.model, PlainData) and one.name in KERNEL
}
VALUES: list[Any] = [None, True, 7, 1.5, "x", [], ["x"], [7], {}, {"x": 1}, {"x": "y"}]
UNTOLD = {"spec.issued"}
"""Types of which nothing is required and a reader takes all."""


def judged(kind: str, data: dict[str, Any], place: Path, version: int = 0) -> set[str]:
    """Return the rules that a ledger breaks which holds *data* in a run's event."""
    version = version or (DECISIONS if kind.startswith("decision.") else KERNEL_DATA)
    forge = Forge("one").open(event=version)
    forge.append(kind, data, run=RUN)
    return {finding.rule for finding in check(forge, place / "l.db").findings}


def sound(kind: str, forge: Forge) -> dict[str, Any]:
    """Return data of the type that has every known field."""
    tried = [*VALUES, forge.blob(b"1")]
    return {
        name: next(value for value in tried if one(value))
        for name, (one, _) in KERNEL[kind].items()
    }


def test_the_description_is_that_of_the_writer() -> None:
    """Each kernel type but those of keys is described; required is what is required."""
    names = {one.name for one in KERNEL_TYPES}
    about_keys = {name for name in names if name.startswith(("key.", "ledger."))}
    assert names - about_keys - UNTOLD <= KERNEL.keys()
    for name, model in DECLARED.items():
        declared = set(fields_of(model))
        assert KERNEL[name].keys() <= declared, name
        required = {one for one in declared if not hasattr(model, one)}
        assert required >= {n for n, (_, must) in KERNEL[name].items() if must}, name


@pytest.mark.parametrize("kind", KERNEL)
def test_every_field_of_every_type(kind: str, tmp_path: Path) -> None:
    """A field left out that must be there, or of another type, is found."""
    for name, (fits, required) in KERNEL[kind].items():
        whole = sound(kind, Forge("one"))
        if required:
            without = {one: value for one, value in whole.items() if one != name}
            assert "event/data" in judged(kind, without, tmp_path), name
        for value in VALUES:
            if not fits(value):
                found = judged(kind, {**whole, name: value}, tmp_path)
                assert "event/data" in found, (name, value)


@pytest.mark.parametrize("kind", KERNEL)
def test_empty_data(kind: str, tmp_path: Path) -> None:
    """``{}`` is found; in the first edition it was not looked at, and still is not."""
    assert "event/data" in judged(kind, {}, tmp_path)
    assert "event/data" not in judged(kind, {}, tmp_path, version=1)


def test_what_the_writer_writes_is_accepted(ledger: Ledger) -> None:
    """Everything that a run writes, its failures and resumptions too, is accepted."""

    def program(run: Any) -> object:
        run.record("claim.stated", {"id": "c", "text": "t" * 9000, "acceptance": {}})
        run.record("note.added", {"text": "x" * 9000, "details": [1.0, {2, 3}]})
        run.record("note.added", {"text": "$blob"})
        verdict = {"hypothesis": "h", "verifier": "v", "p_value": 1.0}
        run.record("verdict.reached", {**verdict, "result": {"a": float("nan")}})
        run.now()
        if not broken:
            return None
        raise ValueError("no")

    broken = [1]
    failed = ledger.execute(program, labels={"$a": "b"})
    broken.clear()
    ledger.resume(failed.run_id, program)
    ledger.erase(failed.run_id, reason="r" * 9000)
    report = verify(ledger.path)
    assert report.exit_code == 0, str(report)
