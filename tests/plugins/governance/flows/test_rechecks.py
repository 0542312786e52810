"""Data that a step overwrites: no flow completes on other bytes than it says."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.budgets.spending import Spending
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.flows.pins import rechecks

GOOD, BAD = "hello\n", "hallo\n"
ACTS = """
def keep(run, task):
    return run.effect("data", "keep", lambda _: task.dataset.read_text())


def spoil(run, task):
    return run.effect("data", "spoil", lambda _: task.dataset.write_text("hallo\\n"))


def mend(run, task):
    return run.effect("data", "mend", lambda _: task.dataset.write_text("hello\\n"))


def drop(run, task):
    return run.effect("data", "drop", lambda _: task.dataset.unlink())
"""


def digest(text: str) -> str:
    """Return the digest of data."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def pin(state: str) -> dict[str, Any]:
    """Return the dataset, in that state."""
    return {
        "dataset_id": "corpus",
        "tenant_id": "tenant-a",
        "dataset_version": "1",
        "dataset_hash": digest(GOOD),
        "dataset_state": state,
        "storage_uri": "file://corpus.txt",
    }


def acting(place: Path, acts: tuple[str, ...], state: str, **members: Any) -> Path:
    """Write a flow whose steps do *acts*, one after the other, to its data."""
    names = [f"s{number}" for number in range(len(acts))]
    document = sum_document(
        agents=names,
        dependencies=[f"{b}:{a}" for a, b in itertools.pairwise(names)],
        parts={name: f"agents:{act}" for name, act in zip(names, acts, strict=True)},
        dataset=pin(state),
        allow_deprecated_datasets=True,
        **members,
    )
    file = write_flow(place, document)
    (place / "agents.py").write_text(ACTS)
    (place / "corpus.txt").write_text(GOOD)
    return file


def found(acts: tuple[str, ...], *, often: bool) -> str | None:
    """Return where a check finds other data than was pinned, if one does."""
    data = GOOD
    for number, act in enumerate(acts):
        if often and data != GOOD:
            return f"step/{number}-s{number}"
        data = {"spoil": BAD, "mend": GOOD}.get(act, data)
    return None if data == GOOD else "flow"


def checked(book: Ledger, done: Done) -> list[tuple[str, str]]:
    """Return what checks of the data stated: what was pinned, and what was found."""
    rows = book.events(run=done.run_id, type="dataset.checked")
    return [(str(one.raw["pinned"]), str(one.raw["sha256"])) for one in rows]


@pytest.mark.parametrize("often", [True, False])
@pytest.mark.parametrize(
    "acts", [*itertools.product(("keep", "spoil", "mend"), repeat=2)]
)
def test_whatever_steps_do_to_frozen_data(
    book: Ledger,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    acts: tuple[str, ...],
    often: bool,
) -> None:
    """A flow fails if a check finds other data; a replay and a resume end like that."""
    if not often:
        monkeypatch.setattr(rechecks, "_LITTLE", 0)
    done = start_flow(book, load_flow(acting(place, acts, "frozen")))
    where, said = found(acts, often=often), str(done.error)
    if where is None:
        assert done.ok, done.error
        assert checked(book, done) == [(digest(GOOD), digest(GOOD))]
    else:
        assert done.status == "failed"
        assert f"{where}, its data: the frozen data changed while the flow ran" in said
        assert checked(book, done) == [(digest(GOOD), digest(BAD))]
    (place / "corpus.txt").write_text(GOOD)
    assert replay(book, done.run_id).verdict == "acceptable"
    if where is not None:
        again = book.resume(done.run_id)
        assert (again.status, str(again.error)) == ("failed", said)


def test_deprecated_data(book: Ledger, place: Path) -> None:
    """Deprecated data may change as little as frozen data."""
    done = start_flow(book, load_flow(acting(place, ("spoil",), "deprecated")))
    assert "the deprecated data changed" in str(done.error)


def test_experimental_data(book: Ledger, place: Path) -> None:
    """Experimental data may change, and its digest at the end is stated."""
    flow = load_flow(acting(place, ("spoil", "keep"), "experimental"))
    done = start_flow(book, flow)
    assert done.ok, done.error
    assert checked(book, done) == [(digest(GOOD), digest(BAD))]
    (place / "corpus.txt").write_text(GOOD)
    assert replay(book, done.run_id).verdict == "acceptable"


def test_data_that_is_gone_at_the_end(book: Ledger, place: Path) -> None:
    """Data that a step deletes fails the flow as well."""
    done = start_flow(book, load_flow(acting(place, ("drop",), "frozen")))
    assert done.status == "failed"
    assert "flow, its data" in str(done.error)
    assert "the data cannot be read" in str(done.error)


def test_no_budget_counts_it(book: Ledger, place: Path) -> None:
    """Neither effects nor events that look after data are spent."""
    flow = load_flow(acting(place, ("mend", "mend"), "frozen"))
    policy = write_policy(place, execution_budget={"effect_limit": 2})
    done = start_flow(book, flow, load_policy(policy))
    assert done.ok, done.error
    events = [*book.events(run=done.run_id)]
    others = [one for one in events if not one.type.startswith("dataset_check.")]
    assert len(events) == len(others) + 6
    spent = Spending()
    for event in events:
        spent.take_in(event)
    assert spent.events == len(others) - 1  # what a check states
    table = budget_table(book, done.run_id)
    assert table is not None
    assert [one.spent for one in table.rows if one.limit == "effect_limit"] == [2]


def test_data_of_a_flow_within_a_flow(book: Ledger, place: Path) -> None:
    """A step above may not change the data of the flow that runs after it."""
    inner = acting(place, ("keep",), "frozen", flow_id="inner")
    inner.rename(place / "inner.json")
    acting(place, ("spoil", "keep"), "experimental")
    outer = sum_document(
        agents=["first", "last"],
        dependencies=["last:first"],
        parts={"first": "agents:elsewhere", "last": {"flow": "inner.json"}},
    )
    file = write_flow(place, outer)
    text = 'from pathlib import Path; return Path("corpus.txt").write_text("hallo\\n")'
    (place / "agents.py").write_text(
        f"{ACTS}\n\ndef elsewhere(run, task):\n    {text}\n"
    )
    done = start_flow(book, load_flow(file))
    assert done.status == "failed"
    assert "the frozen data changed while the flow ran" in str(done.error)
