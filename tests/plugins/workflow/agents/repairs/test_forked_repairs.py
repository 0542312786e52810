"""The repair agent, forked at each of its steps: only what comes after the step is done.

Rules: a step is an effect of the run, as choosing the model of a turn, an answer, or a call
of a tool. What is before it is answered by the origin, and so performed by nobody; the
folder is put back as it stood there. Calls are counted by who performs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muniment import verify
from repairs import Ran, killed, ledger_of, performed, repository, run

EFFECTS = ("agent.turn", "llm", "tool", "stage")
STEPS = 25
"""How many steps the run has: 8 turns, 8 answers, 7 calls of tools, 2 stages."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A folder in which a run has ended, and what it did."""

    folder: Path
    performed: list[str]
    steps: list[Any]
    """The events by which its effects ended."""
    text: str


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    """Give a run that mended the prices."""
    folder = repository("prices", tmp_path)
    assert run(folder).conclusion == "repaired"
    text = (folder / "prices.py").read_text()
    return Origin(folder, performed(folder), steps_of(folder, 1), text)


def steps_of(folder: Path, number: int) -> list[Any]:
    """Return the events by which the effects of the so many-th run ended."""
    with ledger_of(folder) as ledger:
        runs = [one.id for one in ledger.runs(order="asc")]
        events = list(ledger.events(run=runs[number - 1]))
    return [
        one for one in events if one.type.rpartition(".")[0] in EFFECTS and is_end(one)
    ]


def is_end(event: Any) -> bool:
    """Tell whether an effect ended by *event*."""
    return str(event.type).endswith((".completed", ".failed"))


def is_sound(origin: Origin) -> bool:
    """Tell whether the ledger verifies, with all runs that are in it."""
    with ledger_of(origin.folder) as ledger:
        return verify(ledger.path).ok


def forked(origin: Origin, *arguments: object) -> tuple[Ran, list[str]]:
    """Fork the run; return how it ended, and what was performed for it."""
    before = performed(origin.folder)
    ran = run(origin.folder, "--fork", *arguments)
    assert performed(origin.folder)[: len(before)] == before
    assert ran.lines[-1] == "replayed, with nothing asked or run: acceptable"
    return ran, performed(origin.folder)[len(before) :]


@pytest.mark.slow
def test_at_each_step(origin: Origin) -> None:
    """The prefix is proven by the origin and asks nobody; the rest is done, and no more."""
    assert len(origin.steps) == STEPS
    made = 0
    for number, step in enumerate(origin.steps):
        made += not step.type.startswith("agent.turn")
        (origin.folder / "prices.py").write_text("def total(): ...\n")
        ran, done = forked(origin, step.seq)

        assert (ran.code, ran.conclusion) == (0, "repaired"), ran.text
        assert done == origin.performed[made:], step
        assert (origin.folder / "prices.py").read_text() == origin.text
        ends = steps_of(origin.folder, number + 2)
        assert [one.type for one in ends] == [one.type for one in origin.steps]
        answered = [one.data["answered_by"] for one in ends]
        proven = [one.hash for one in origin.steps[: number + 1]]
        assert [one.get("leaf") for one in answered[: number + 1]] == proven
        assert all(one["who"] == "performer" for one in answered[number + 1 :])
    assert is_sound(origin)


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(1, 7))
def test_another_model_from_a_turn_on(origin: Origin, turn: int) -> None:
    """Another model answers that turn, and those after it; nobody the ones before."""
    (origin.folder / "other.json").write_text((origin.folder / "mend.json").read_text())
    asked = [one for one in origin.steps if one.scope == f"mend.1/turn.{turn}"]
    ran, done = forked(origin, asked[-1].seq, "--model", "scripted:other.json")

    assert (ran.code, ran.conclusion) == (0, "repaired"), ran.text
    before = origin.performed.index(f"llm mend.json {turn}")
    wanted = [
        one.replace("mend.json", "other.json") for one in origin.performed[before:]
    ]
    assert done == wanted
    assert is_sound(origin)
    assert (origin.folder / "prices.py").read_text() == origin.text


def test_a_model_that_does_less(origin: Origin) -> None:
    """A model that stops after its first guess is sent back, and the graph's own goes on."""
    folder = origin.folder
    (folder / "other.json").write_text('[{"turn": 4, "text": "I leave it at that."}]')
    fourth = next(one for one in origin.steps if one.scope == "mend.1/turn.4")
    ran, done = forked(origin, fourth.seq, "--model", "scripted:other.json")
    assert done[:3] == ["llm other.json 4", "change {}", "cases_hold {}"]
    assert done[3] == "llm mend.json 1"
    assert any(one.startswith("verify.1 verification_failed: ") for one in ran.lines)
    assert any(one.startswith("verify.2 verified: ") for one in ran.lines)
    assert (ran.code, ran.conclusion) == (0, "repaired"), ran.text


def test_a_fork_of_a_fork(origin: Origin) -> None:
    """A fork has all that it was answered in its own record, and can be forked."""
    second = next(one for one in origin.steps if one.scope == "mend.1/turn.2/call.0")
    forked(origin, second.seq)
    ends = steps_of(origin.folder, 2)
    fourth = next(one for one in ends if one.scope == "mend.1/turn.4/call.0")
    ran, done = forked(origin, fourth.seq)
    assert (ran.code, ran.conclusion) == (0, "repaired"), ran.text
    at = origin.performed.index("llm mend.json 5")
    assert done == origin.performed[at:]


@pytest.mark.parametrize("commit", [1, 30])
def test_a_fork_that_is_killed(origin: Origin, commit: int) -> None:
    """It is gone on with as any run is, and does only what comes after its step."""
    second = next(one for one in origin.steps if one.scope == "mend.1/turn.2/call.0")
    before = performed(origin.folder)
    assert killed(origin.folder, commit, arguments=("--fork", second.seq))
    ran = run(origin.folder)
    assert (ran.code, ran.conclusion) == (0, "repaired"), ran.text
    assert (origin.folder / "prices.py").read_text() == origin.text
    at = origin.performed.index("llm mend.json 3")
    assert performed(origin.folder)[len(before) :] == origin.performed[at:]
    assert is_sound(origin)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--fork", "999"), "there is no event 999"),
        (("--fork", "0"), "event 0 is of no repair"),
        (("--fork", "3", "--model", "scripted:mend.json"), "no model has had a turn"),
    ],
)
def test_where_nothing_can_be_forked(
    origin: Origin, arguments: tuple[str, ...], why: str
) -> None:
    """It says so, and leaves the folder as it is."""
    before = performed(origin.folder)
    (origin.folder / "prices.py").write_text("x = 1\n")
    ran = run(origin.folder, *arguments)
    assert ran.code == 1
    assert why in ran.text
    assert (origin.folder / "prices.py").read_text() == "x = 1\n"
    assert performed(origin.folder) == before
