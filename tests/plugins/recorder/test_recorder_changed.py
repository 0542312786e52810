"""A fork of a recorded program gives it what its caller says, and the ledger stays right.

Rules: a text, or any JSON, becomes an answer in the format that was asked for, before anything
is written; what is declared is what is recorded. What cannot be such an answer is refused
with nothing written.
"""

from __future__ import annotations

import json

import pytest

from muniment.errors import RefusedError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from muniment_plugins.providers.clients.stand_ins import on_the_wire
from recorded_programs import CALLS, PROGRAMS
from recording import PYTHON, Desk

AGENTS = [name for name in PROGRAMS if name not in ("children", "pool", "threads")]
SAID = {"text": ("said.txt", "Oslo"), "JSON": ("said.json", '{"city": "Oslo"}')}


@pytest.mark.parametrize("form", SAID)
@pytest.mark.parametrize("name", AGENTS)
def test_what_a_fork_says_is_an_answer(desk: Desk, name: str, form: str) -> None:
    """Of each call of the program; the fork replays, and the ledger verifies."""
    file, text = SAID[form]
    desk.write("agent.py", PROGRAMS[name])
    desk.write(file, text)
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0, done
    with desk.open() as ledger:
        outcomes = [
            one.seq
            for kind in CALLS[name]
            for one in ledger.events(run=done.run, type=f"{kind}.completed")
        ]
        size = sum(1 for _ in ledger.events())
    assert outcomes
    seq = outcomes[0]
    line = ("fork", done.run, "--at", str(seq), "--set", f"{seq}={file}", "--json")
    forked = desk.muniment(*line, "--", PYTHON, "agent.py")
    assert desk.holds, forked
    if forked.code == 2:
        assert "fork/change" in forked.err, forked
        with desk.open() as ledger:
            assert sum(1 for _ in ledger.events()) == size
        return
    said = json.loads(forked.out)
    with desk.open() as ledger:
        first = next(ledger.events(run=said["run"], type="*.completed"))
        assert b"Oslo" in json.dumps(ledger.resolve(first)).encode()
    again = desk.replay(said["run"], PYTHON, "agent.py")
    assert again.code == 0, again


def test_what_is_no_answer_is_refused_where_it_is_given(ledger: Ledger) -> None:
    """Also in a program that does not say how its outcomes are spelled."""
    ledger.register(EffectKind("web"))

    def program(run: Run) -> object:
        effect = run.open("web", {"url": "https://x/y"})
        if effect.answered:
            asked = _Asked("web", {"url": "https://x/y"})
            effect.translate(lambda given: on_the_wire(asked, given))
            return effect.answer()
        return effect.complete({"status": 200, "headers": [], "chunks": ["one"]})

    done = ledger.execute(program)
    (outcome,) = ledger.events(run=done.run_id, type="web.completed")
    for changed, ends in (
        ("two", "failed"),
        ({"status": 200, "headers": [], "chunks": ["two"]}, "completed"),
    ):
        forked = ledger.fork(
            done.run_id,
            at=outcome.seq,
            changes={outcome.seq: changed},
            program=program,
        )
        assert forked.status in (ends, "refused" if ends == "failed" else ends)
        if ends == "failed":
            assert isinstance(forked.error, RefusedError)
            assert forked.error.rule == "fork/change"
        else:
            assert replay(ledger, forked.run_id, program).verdict == "acceptable"
        report = verify(ledger.path, home=ledger.home)
        assert report.ok, str(report)


class _Asked:
    def __init__(self, kind: str, request: dict[str, object]) -> None:
        self.kind, self.request = kind, request
