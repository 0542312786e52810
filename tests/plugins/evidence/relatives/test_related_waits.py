"""Children that wait, are answered, given up, or erased, in the bundle of their caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from bundled import evidence_plugins
from muniment import verify_bundle
from muniment.errors import EffectFailed, MunimentError
from muniment.formats.evidence import RELATED
from muniment.keys.ed25519 import PrivateKey, load_private
from muniment.keys.enrolment import enrolment
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.runs.tree.child_runs import ChildRuns
from muniment.storage.sealing import Draft
from muniment_plugins.evidence import write_bundle
from spoiled_bundles import read
from three_verifiers import NEEDS_NODE, Verifiers, verifiers

pytestmark = NEEDS_NODE


def asking(run: Run) -> str:
    """Ask somebody."""
    return run.decide({"release": "1.2"}, "ship it?").outcome


def pausing(run: Run) -> None:
    """Wait for somebody."""
    run.record("note.added", {"text": "before"})
    run.pause("until somebody comes")


def telling(run: Run) -> object:
    """Ask for what is erased later."""
    return run.effect("tool", {"name": "a secret"}, lambda request: request)


def calls(program: Callable[[Run], object]) -> Callable[[Run], object]:
    """Return a program that calls another one, and goes on whatever comes of it."""

    def caller(run: Run) -> object:
        with suppress(EffectFailed):
            return run.call(program)
        return None

    return caller


@dataclass
class House:
    """A ledger, and three who look at its bundles."""

    ledger: Ledger
    approver: PrivateKey
    three: Verifiers
    base: Path
    number: int = 0

    def bundle(self, run: str) -> tuple[str, tuple[str, ...]]:
        """Bundle *run*; all take it. Return its completeness, and what it lacks."""
        self.number += 1
        written = write_bundle(self.ledger, run, self.base / f"{self.number}")
        codes, said = self.three.codes(written.path)
        assert codes == (0, 0, 0), said
        report = verify_bundle(written.path, keys=[written.root])
        assert said.count("INCOMPLETE") == 2 * bool(report.incomplete)
        assert all(said.count(one) == 2 for one in report.incomplete)
        return report.completeness, report.incomplete

    def child(self, run: str) -> str:
        """Return the child of *run*."""
        starts = list(self.ledger.events(type="run.started"))
        parents = {
            one.run: cast("dict[str, str]", one.raw.get("parent")) for one in starts
        }
        (found,) = (one for one, told in parents.items() if told and told["run"] == run)
        return str(found)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Give a ledger with somebody who may decide."""
    home = tmp_path / "home"
    plugins = evidence_plugins()
    with Ledger.create(tmp_path / "ledger.db", home=home, plugins=plugins) as ledger:
        root = load_private(ledger.home.recovery_directory(ledger.id) / "root.pem")
        approver = PrivateKey.generate()
        entry: dict[str, object] = dict(enrolment(approver, ["approver"], ledger.id))
        prepared = ledger.port.types.get("key.enrolled").prepare(entry)
        ledger.store.append([Draft(prepared)], signer=root)
        with verifiers(root.public.keyid, tmp_path / "nobody") as three:
            yield House(ledger, approver, three, tmp_path)


def test_a_child_that_asks(house: House) -> None:
    """The answer to its question is there, and is judged."""
    program = calls(asking)
    run = house.ledger.execute(program).run_id
    lacks = (f"an end of child run {house.child(run)} that covers its events",)
    assert house.bundle(run) == ("unchecked", lacks)
    asked = house.ledger.pending()[0]
    house.ledger.answer(asked.sign(house.approver, "approved", reason="tested"))
    assert house.bundle(run) == ("unchecked", lacks)
    house.ledger.resume(run, program)
    assert house.bundle(run) == ("checked", ())
    related = read(house.base / f"{house.number}")[RELATED]
    (given,) = house.ledger.events(type="decision.given")
    assert len(related.splitlines()) == 1 + sum(
        1 for _ in house.ledger.events(run=house.child(run))
    )
    assert given.seq < next(house.ledger.events(run=run, order="desc")).seq


def test_a_child_that_is_given_up(house: House) -> None:
    """A canceled child has no end with a root: nothing shows that all of it is there."""
    program = calls(pausing)
    run = house.ledger.execute(program).run_id
    child = house.child(run)
    house.ledger.cancel(child, reason="nobody came")
    with suppress(MunimentError):
        house.ledger.resume(run, program)
    lacks = (f"an end of child run {child} that covers its events",)
    assert house.bundle(run) == ("unchecked", lacks)


def test_a_child_that_is_erased(house: House) -> None:
    """Its contents are gone by an event that is there, in its caller's fork, too."""
    program = calls(telling)
    run = house.ledger.execute(program).run_id
    house.ledger.erase(house.child(run), reason="asked to")
    assert house.bundle(run) == ("checked", ())
    last = list(house.ledger.events(run=run))[-1].seq
    fork = house.ledger.fork(run, at=last, program=program).run_id
    assert house.bundle(fork) == ("checked", ())


def test_a_call_that_began_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that fails before its child begins may have begun one: that is said."""

    def fails(*_: object, **__: object) -> None:
        raise OSError("no room for a child")

    monkeypatch.setattr(ChildRuns, "_take", fails)
    run = house.ledger.execute(calls(telling)).run_id
    lacks = f"what 1 call of run {run} without a result began, if anything"
    assert house.bundle(run) == ("unchecked", (lacks,))
