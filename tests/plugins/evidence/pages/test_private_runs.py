"""Reports of runs with private lanes: they agree with the ledger, and quote nothing private."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.evidence import check_report
from muniment_plugins.evidence.report.write import report_text

MARK = "Marabu"
"""Stands in everything that is private, names of members included."""
DEEP = {f"{MARK}1": [{f"{MARK}2": f"{MARK}3"}], "wide": f"{MARK}\n" * 40}


def asks(run: Run) -> object:
    """Ask people about something deep."""
    return run.decide(DEEP, f"{MARK}?").outcome


def fails(run: Run) -> object:
    """Fail in an effect, and go on."""
    with contextlib.suppress(Exception):
        run.effect("tried", DEEP, lambda _: int(MARK))
    return 1


def answers(run: Run) -> object:
    """Ask an effect whose answer is deep."""
    run.effect("tried", DEEP, lambda _: DEEP)
    return 1


PROGRAMS = [asks, fails, answers]


@pytest.mark.parametrize("form", [".html", ".md"])
@pytest.mark.parametrize("lane", ["here", "below", "everywhere"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_report_agrees_and_quotes_nothing(
    ledger: Ledger,
    program: Callable[[Run], object],
    lane: str,
    form: str,
) -> None:
    """Its own checker compares all of it, and no name inside of a content is on it."""
    ledger.register(EffectKind("tried"))

    def main(run: Run) -> object:
        if lane == "below":
            with run.scope("inner") as inner:
                inner.keep_private()
                return program(inner)
        run.keep_private(everywhere=lane == "everywhere")
        return program(run)

    done = ledger.execute(main)
    text = report_text(ledger, done.run_id, form)
    checked = check_report(ledger, text)
    assert checked.verdict == "agrees", checked.findings
    assert checked.compared > 9
    assert MARK not in text
    assert "private" in text
