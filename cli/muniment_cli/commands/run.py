"""``muniment run``: a program or an experiment, recorded.

Rules: what the program prints goes to stdout as it does without muniment, and to stderr
with ``--json``; the exit code says the verdict.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import TYPE_CHECKING, Literal, TypedDict, cast

import click

from muniment_cli.context import Session, pass_session
from muniment_cli.options import examples, json_option
from muniment_cli.output import hint

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.executing import Done
    from muniment.ledger import Ledger
    from muniment_cli.targets import Program

__all__ = ["command"]


class Wanted(TypedDict):
    """How a run is to be executed, as `Ledger.execute` takes it."""

    params: dict[str, object]
    name: str | None
    labels: dict[str, str]
    tenant: str
    mode: Literal["live", "dry"]


@click.command(
    "run",
    epilog=examples(
        "muniment run experiment.py",
        "muniment run triage.py:triage -p ticket=T-1 -p 'limits={\"calls\": 3}'",
        "muniment run pipeline.jobs:nightly --label team=search --json",
    ),
)
@click.argument("target", metavar="FILE|MODULE:NAME")
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter; JSON where it is JSON, else text.",
)
@click.option("--name", metavar="NAME", help="What the run is called.")
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label of the run."
)
@click.option("--tenant", default="default", show_default=True, help="Whose run it is.")
@click.option("--dry", is_flag=True, help="Perform and write nothing.")
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    target: str,
    params: tuple[str, ...],
    name: str | None,
    labels: tuple[str, ...],
    tenant: str,
    dry: bool,
    as_json: bool,
) -> int:
    """Run a program or an experiment, and record it.

    FILE is a Python file; without `:NAME` its function `main` is run, or the only
    program or experiment that is in it. A dry run ends at the first effect whose kind
    cannot say what it would do.
    """
    from muniment_cli.targets import load_target
    from muniment_cli.verdicts import progress_of_run, show_done

    given: dict[str, object] = {
        key: _value(text) for key, text in _pairs(params, "param").items()
    }
    tags = _pairs(labels, "label")
    aside = (
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    )
    with session.open(write=not dry) as ledger:
        with aside:
            found = load_target(target)
            program = found.program(ledger)
            wanted: Wanted = {
                "params": given,
                "name": name,
                "labels": tags,
                "tenant": tenant,
                "mode": "dry" if dry else "live",
            }
            with progress_of_run(ledger):
                done = _executed(ledger, program, wanted)
        return show_done(ledger, done, as_json=as_json, dry=dry)


def _executed(ledger: Ledger, program: Program, wanted: Wanted) -> Done:
    from muniment_cli.targets import is_async

    before = ledger.head.size
    try:
        if is_async(program):
            return asyncio.run(ledger.aexecute(program, **wanted))
        return ledger.execute(program, **wanted)
    except KeyboardInterrupt:
        started = ledger.events(type="run.started", from_seq=before, limit=1)
        for event in started:
            hint(f"`muniment resume {event.run}` goes on with the run")
        raise


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.UsageError(f"--{option} takes KEY=VALUE, not {text!r}")
        if key in pairs:
            raise click.UsageError(f"--{option} {key} is given twice")
        pairs[key] = value
    return pairs


def _value(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except json.JSONDecodeError:
        return text
