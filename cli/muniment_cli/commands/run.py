"""``muniment run``: a program or an experiment, recorded.

Rules: what the program prints goes to stdout as it does without muniment, and to stderr
with ``--json``; the exit code says the verdict.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Literal, TypedDict, cast

import click

from muniment_cli.context import Session, pass_session
from muniment_cli.options import examples, json_option, pairs
from muniment_cli.output import hint

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.executing import Done
    from muniment.ledger import Ledger
    from muniment_cli.targets import Experiment, Program
    from muniment_cli.verdicts import Outcome

__all__ = ["command"]

LEDGER_VARIABLE = "MUNIMENT_LEDGER"


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

    FILE is a Python file. It is imported, and what it runs by itself is recorded; where
    that is nothing, its function `main` is run, or the only program or experiment that
    is in it, or the one that `:NAME` names. A dry run ends at the first effect whose kind
    cannot say what it would do.
    """
    from muniment_cli.verdicts import progress_of_run, show_outcomes

    wanted: Wanted = {
        "params": {key: _value(text) for key, text in pairs(params, "param").items()},
        "name": name,
        "labels": pairs(labels, "label"),
        "tenant": tenant,
        "mode": "dry" if dry else "live",
    }
    aside = redirect_stdout(sys.stderr) if as_json else nullcontext()
    with session.open(write=not dry) as ledger:
        with aside, _meant(ledger), progress_of_run(ledger):
            outcomes = _outcomes(ledger, target, wanted, session.ledger_url)
        return show_outcomes(outcomes, as_json=as_json)


@contextmanager
def _meant(ledger: Ledger) -> Generator[None]:
    """Let what a file runs by itself run on *ledger*."""
    before = os.environ.get(LEDGER_VARIABLE)
    os.environ[LEDGER_VARIABLE] = str(ledger.path)
    try:
        yield
    finally:
        os.environ.pop(LEDGER_VARIABLE)
        if before is not None:
            os.environ[LEDGER_VARIABLE] = before


def _outcomes(
    ledger: Ledger, target: str, wanted: Wanted, url: str | None
) -> list[Outcome]:
    """Import the target, run what it names, and return how that ended."""
    from muniment.errors import CannotTellError
    from muniment_cli.explaining import ways_on
    from muniment_cli.targets import load_source
    from muniment_cli.verdicts import dry_outcome, recorded

    before = ledger.head.size
    try:
        source = load_source(target)
        started = ledger.events(type="run.started", from_seq=before)
        ran = [cast("str", event.run) for event in started]
        if ran and not source.name:
            return [recorded(ledger, run) for run in ran]
        found = source.target()
        if found.experiment is not None:
            return [_experiment(ledger, found.experiment, wanted)]
        done = _executed(ledger, found.program, wanted)
    except KeyboardInterrupt:
        for event in ledger.events(type="run.started", from_seq=before):
            for line in ways_on(ledger, cast("str", event.run), url):
                hint(line)
        raise
    except CannotTellError as error:
        begun = list(ledger.events(type="run.started", from_seq=before))
        if not begun or not _raised_failures(error):
            raise
        return [recorded(ledger, cast("str", event.run)) for event in begun]
    except SystemExit as end:
        return _ended_by_program(ledger, target, before, end)
    if wanted["mode"] == "dry":
        return [dry_outcome(ledger, done, wanted["name"] or found.name)]
    return [recorded(ledger, done.run_id, done.result_digest)]


def _raised_failures(error: Exception) -> bool:
    """Tell whether a file could not be imported because it raised a result's failures."""
    from muniment_plugins.harness.refusals import ExperimentFailed

    return isinstance(error.__cause__, ExperimentFailed)


def _ended_by_program(
    ledger: Ledger, target: str, before: int, end: SystemExit
) -> list[Outcome]:
    """Return how the runs ended of a file that calls ``sys.exit``."""
    from muniment.errors import CannotTellError
    from muniment_cli.verdicts import recorded

    started = ledger.events(type="run.started", from_seq=before)
    ran = [cast("str", event.run) for event in started]
    if not ran:
        raise CannotTellError(
            f"it ended the process with {end.code} before anything was run",
            rule="run/import",
            place=target,
            remedy="let it raise what is wrong, or return",
        ) from end
    hint(f"{target} ended the process with {end.code}")
    return [recorded(ledger, run) for run in ran]


def _experiment(ledger: Ledger, experiment: Experiment, wanted: Wanted) -> Outcome:
    from muniment_cli.verdicts import recorded

    own = [key for key in ("name", "labels") if wanted[key]]
    own += ["tenant"] if wanted["tenant"] != "default" else []
    own += ["dry"] if wanted["mode"] == "dry" else []
    if own:
        raise click.UsageError(f"an experiment takes no --{own[0].rstrip('s')}")
    _check_options(experiment, wanted["params"])
    ended = experiment.run(ledger=ledger, **wanted["params"])
    digest = getattr(ended, "result_digest", None)
    return recorded(ledger, str(getattr(ended, "run_id", "")), digest)


def _check_options(experiment: Experiment, given: dict[str, object]) -> None:
    """Refuse what the experiment's ``run`` does not take, before a run is opened."""
    signature = inspect.signature(experiment.run)
    try:
        signature.bind(ledger=None, **given)
    except TypeError as error:
        takes = ", ".join(name for name in signature.parameters if name != "ledger")
        raise click.UsageError(
            f"the experiment does not fit its -p: {error}; it takes {takes or 'none'}"
        ) from error


def _executed(ledger: Ledger, program: Program, wanted: Wanted) -> Done:
    from muniment_cli.targets import is_async

    _check_params(program, wanted["params"])
    if is_async(program):
        return asyncio.run(ledger.aexecute(program, **wanted))
    return ledger.execute(program, **wanted)


def _check_params(program: Program, params: dict[str, object]) -> None:
    """Refuse what the program does not take, before a run is opened."""
    try:
        signature = inspect.signature(program)
    except ValueError:
        return  # built in, without a signature
    try:
        signature.bind(None, **params)
    except TypeError as error:
        takes = ", ".join(map(str, [*signature.parameters.values()][1:])) or "none"
        raise click.UsageError(
            f"the program does not fit its -p: {error}; it takes {takes}"
        ) from error


def _value(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except json.JSONDecodeError:
        return text
