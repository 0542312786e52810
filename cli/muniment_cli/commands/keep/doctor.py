"""``muniment doctor``: what works on this machine, and what to do about the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import click

from muniment.errors import CannotTellError, MunimentError
from muniment_cli.diagnosis.health import (
    HealthCheck,
    check_ledger,
    check_machine,
    check_plugins,
)
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.advice import advised
from muniment_cli.terminal.output import fields, hint, prose, say, show_json

__all__ = ["command"]

_MARKS = {"ok": ("✓ ", "green"), "warn": ("! ", "yellow"), "bad": ("✗ ", "bold red")}


@click.command(epilog=examples("muniment doctor", "muniment doctor --json"))
@json_option
@pass_session
def command(session: Session, as_json: bool) -> int:
    """Examine this machine, the plugins, and the ledger, if there is one.

    Repairs nothing; every finding comes with its remedy. Exits 1 if something is
    broken, 0 if all is well or could merely be better.
    """
    url = session.ledger_url
    checks = [
        dataclasses.replace(one, remedy=advised(one.remedy, url))
        for one in _checks(session)
    ]
    if as_json:
        show_json(checks)
    else:
        _show(checks)
    return 1 if any(one.verdict == "bad" for one in checks) else 0


def _checks(session: Session) -> Iterator[HealthCheck]:
    from muniment.plugins import Plugins

    yield from check_machine(session.home)
    yield from check_plugins(Plugins())
    try:
        session.place()
    except CannotTellError as error:
        yield HealthCheck("ledger", "ok", "none here", error.remedy)
        return
    try:
        with session.open(plugins=[]) as ledger:
            yield HealthCheck("ledger", "ok", f"{ledger.path} ({ledger.id})")
            yield from check_ledger(ledger)
    except MunimentError as error:
        seen = f"{error.place}: {error.message} [{error.rule}]"
        yield HealthCheck("ledger", "bad", seen, error.remedy)


def _show(checks: list[HealthCheck]) -> None:
    fields([(one.name, [_MARKS[one.verdict], (one.seen, "")]) for one in checks])
    advice = [one for one in checks if one.verdict != "ok" and one.remedy]
    if advice:
        say()
    for one in advice:
        prose(f"→ {one.name}: {one.remedy}")
    if not advice:
        hint("nothing to do")
