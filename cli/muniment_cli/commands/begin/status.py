"""``muniment status``: the ledger at hand, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from muniment_cli.diagnosis.health import isolation_level, unfinished_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import Cell, age, count, fields, hint, show_json
from muniment_cli.terminal.pasting import hindrance
from muniment_cli.views.anchor_words import anchored, is_whole
from muniment_cli.views.event_view import status_style
from muniment_cli.views.explaining.reasons import (
    marked_words,
    marks_json,
    run_marks,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["command"]


@click.command(epilog=examples("muniment status", "muniment status --json"))
@json_option
@pass_session
def command(session: Session, as_json: bool) -> int:
    """Show the current ledger: head, keys, anchors, unfinished runs, isolation.

    Shows what is there; `muniment verify` checks whether it is right.
    """
    with session.open() as ledger:
        facts = _facts(session, ledger)
        if as_json:
            show_json(facts)
        else:
            _show(session, ledger, facts)
    return 0


def _facts(session: Session, ledger: Ledger) -> dict[str, object]:
    home, size = ledger.home, ledger.head.size
    last = ledger.event(size - 1)
    keyring = ledger.keys
    recovery = home.recovery_directory(ledger.id)
    return {
        "anchored": anchored(ledger),
        "checkpointed": ledger.checkpointed,
        "found": "upwards" if session.merely_found else "by name",
        "isolation": isolation_level(ledger.plugins),
        "last_event": {"seq": last.seq, "time": last.time, "type": last.type},
        "ledger": ledger.id,
        "open_runs": [*(left := unfinished_runs(ledger))],
        "unfinished": left,
        "marks": {one: marks_json(run_marks(ledger, one)) for one in left},
        "path": str(ledger.path),
        "pinned": sorted(home.pins(ledger.id)),
        "recovery": [str(path) for path in sorted(recovery.glob("*.pem"))],
        "remembered": getattr(home.head(ledger.id), "size", None),
        "root": keyring.current("root")[0].keyid,
        "size": size,
        "verified": home.verified(ledger.id),
        "writable": not _hindrance(session, ledger),
    }


def _hindrance(session: Session, ledger: Ledger) -> str:
    return hindrance(ledger, merely_found=session.merely_found)


def _show(session: Session, ledger: Ledger, facts: dict[str, object]) -> None:
    hindrance = _hindrance(session, ledger)
    last = ledger.event(ledger.head.size - 1)
    size = count(ledger.head.size, "event")
    fields(
        [
            ("ledger", ledger.id),
            ("file", str(ledger.path)),
            ("root", _root(ledger, facts)),
            ("key", (hindrance, "yellow") if hindrance else _APPENDS),
            ("head", f"{size}, the last {age(last.time)}: {last.type}"),
            ("anchored", _anchored(ledger, str(facts["anchored"]))),
            ("verified", _verified(ledger)),
            *_runs(facts),
            ("isolation", str(facts["isolation"] or "no plugin runs code")),
        ]
    )
    kept = ledger.home.recovery_directory(ledger.id)
    left = " and ".join(sorted(path.name for path in kept.glob("*.pem")))
    if left:
        hint(f"still to be moved away: {left}, in {kept}")


_APPENDS = "here: this user can append"


def _root(ledger: Ledger, facts: dict[str, object]) -> Cell:
    pins, root = ledger.home.pins(ledger.id), str(facts["root"])
    earlier = [
        one.keyid
        for one in ledger.keys.entries
        if "root" in one.roles and one.keyid in pins
    ]
    if root in pins:
        return [(root, ""), ("  pinned", "green")]
    if earlier:
        return [(root, ""), (f"  follows the pinned {earlier[-1]}", "green")]
    return [(root, ""), ("  not pinned", "yellow")]


def _anchored(ledger: Ledger, text: str) -> Cell:
    whole = is_whole(text, ledger.head.size)
    said = text.removeprefix("anchored ")
    return said if whole else (said, "yellow")


def _verified(ledger: Ledger) -> Cell:
    last = ledger.home.verified(ledger.id)
    if last is None:
        return ("never, by the command line", "yellow")
    text = f"{age(last.time)}, {count(last.size, 'event')}"
    return text if last.ok else (f"{text}: NOT ok", "bold red")


def _runs(facts: dict[str, object]) -> list[tuple[str, Cell]]:
    runs = cast("dict[str, str]", facts["unfinished"])
    if not runs:
        return [("unfinished", "no run")]
    marks = cast("dict[str, list[dict[str, str]]]", facts["marks"])
    told = {
        run: marked_words((one["mark"], one["reason"]) for one in said)
        for run, said in marks.items()
    }
    return [
        ("unfinished", [(f"{run}  ", ""), status_style(status), (told[run], "yellow")])
        for run, status in runs.items()
    ]
