"""``muniment run``: runs a flow, a graph, a program or an experiment, and records it.

Rules: the program's output goes to stdout as it does without muniment, or to stderr
with ``--json``; the exit code gives the verdict.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option, pairs
from muniment_cli.shell.policies import (
    ceiling_option,
    policy_option,
    read_policy,
    under,
)
from muniment_cli.terminal.output import hint

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done
    from muniment_cli.replay.targets import ExperimentLike, Program, Target, Wanted
    from muniment_cli.views.verdicts import RunOutcome
    from muniment_plugins.governance.documents.policy import GovernancePolicy

__all__ = ["command"]

LEDGER_VARIABLE = "MUNIMENT_LEDGER"


class _How(TypedDict):
    """The arguments of the ledger's ``execute``."""

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
        "muniment run flow.json --policy policy.json",
        "muniment run graph.yaml --task 'Mend the parser.' --artifact parser.py",
        "muniment run repair.py:graph --task 'Mend the parser.' --policy policy.json",
    ),
)
@click.argument("target", metavar="FLOW|GRAPH|FILE|MODULE:NAME")
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter; parsed as JSON if possible, otherwise text.",
)
@click.option("--name", metavar="NAME", help="The name of the run.")
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label of the run."
)
@click.option(
    "--tenant", default="default", show_default=True, help="The tenant of the run."
)
@click.option("--task", metavar="TEXT", help="What a graph is to do.")
@click.option(
    "--artifact",
    "artifacts",
    multiple=True,
    metavar="FILE",
    help="A file that a graph works on; may be repeated.",
)
@ceiling_option
@click.option(
    "--listen", is_flag=True, help="Print what models of a loop say, as they say it."
)
@click.option("--dry", is_flag=True, help="Perform and write nothing.")
@policy_option
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    target: str,
    params: tuple[str, ...],
    name: str | None,
    labels: tuple[str, ...],
    tenant: str,
    task: str | None,
    artifacts: tuple[str, ...],
    ceiling: Path | None,
    listen: bool,
    dry: bool,
    policy: Path | None,
    as_json: bool,
) -> int:
    """Run a flow, a graph, a program or an experiment, and record it.

    FILE is a Python file. It is imported, and whatever it runs is recorded; if that is
    nothing, its function `main` is run, or the only program or experiment in it, or the
    one that `:NAME` names. A dry run ends at the first effect whose kind cannot say what
    it would do. FLOW and GRAPH are documents that end in .json, .yaml or .toml. The steps
    of a flow are taken one after the other, and judged. The nodes of a graph are visited
    along its edges; -p are its options, such as max_steps. A dry run of one says what would
    be done. `:NAME` may also name a graph, or a function that returns one and needs no
    arguments.
    """
    from muniment_cli.replay.documents import family_of
    from muniment_cli.replay.targets import is_flow_file, wanted_of
    from muniment_cli.shell.process_end import ended_by_signals
    from muniment_cli.views.graphs.heard_models import heard_models
    from muniment_cli.views.interruption import begun_since, code_of, told_interrupted
    from muniment_cli.views.run_progress import progress_of_run
    from muniment_cli.views.verdicts import show_outcomes

    wanted: Wanted = {
        **wanted_of(params, task=task, artifacts=artifacts, ceiling=ceiling, dry=dry),
        "name": name,
        "labels": pairs(labels, "label"),
        "tenant": tenant,
    }
    terms = read_policy(policy)
    aside = redirect_stdout(sys.stderr) if as_json else nullcontext()
    graph = family_of(target) == "graph" if is_flow_file(target) else task is not None
    shown = partial(progress_of_run, graph=graph, as_json=as_json)
    with ended_by_signals(), session.open(write=not dry) as ledger:
        before = ledger.head.size
        try:
            with (
                aside,
                _meant(ledger),
                shown(ledger) as pause,
                heard_models(listen, pause),
            ):
                outcomes = _outcomes(ledger, target, wanted, terms)
        except KeyboardInterrupt as end:
            begun = begun_since(ledger, before)
            if not told_interrupted(ledger, begun, session.ledger_url):
                raise
            return code_of(end)
        return show_outcomes(outcomes, as_json=as_json)


@contextmanager
def _meant(ledger: Ledger) -> Generator[None]:
    """Let runs that a file starts by itself use *ledger*."""
    before = os.environ.get(LEDGER_VARIABLE)
    os.environ[LEDGER_VARIABLE] = str(ledger.path)
    try:
        yield
    finally:
        os.environ.pop(LEDGER_VARIABLE)
        if before is not None:
            os.environ[LEDGER_VARIABLE] = before


def _outcomes(
    ledger: Ledger, target: str, wanted: Wanted, policy: GovernancePolicy | None
) -> list[RunOutcome]:
    """Run the target under *policy*, and return how that ended."""
    from muniment_cli.replay.documents import family_of
    from muniment_cli.replay.flow_files import run_flow
    from muniment_cli.replay.graph_files import (
        graph_named,
        is_in_python,
        refuse_graph_options,
        run_graph,
    )
    from muniment_cli.replay.targets import is_flow_file

    if is_flow_file(target):
        if family_of(target) == "graph":
            return [run_graph(ledger, graph_named(target), policy, wanted)]
        refuse_graph_options(wanted, "a flow")
        return [run_flow(ledger, target, policy, wanted)]
    if not is_in_python(target):
        refuse_graph_options(wanted, "a program")
    with under(ledger, policy):
        return _imported(ledger, target, wanted)


def _imported(ledger: Ledger, target: str, wanted: Wanted) -> list[RunOutcome]:
    """Import the target, run it, and return how that ended."""
    from muniment.errors import CannotTellError
    from muniment_cli.replay.targets import load_source
    from muniment_cli.views.verdicts import recorded

    before = ledger.head.size
    try:
        source = load_source(target)
        ran = [one.id for one in ledger.runs(from_seq=before)]
        if ran and not source.name:
            return [recorded(ledger, run) for run in ran]
        return [_ran(ledger, source.target(), wanted)]
    except CannotTellError as error:
        begun = [one.id for one in ledger.runs(from_seq=before)]
        if not begun or not _raised_failures(error):
            raise
        return [recorded(ledger, run) for run in begun]
    except SystemExit as end:
        return _ended_by_program(ledger, target, before, end)


def _ran(ledger: Ledger, found: Target, wanted: Wanted) -> RunOutcome:
    """Run what was named in a Python file: a graph, an experiment or a program."""
    from muniment_cli.replay.graph_files import (
        graph_in,
        refuse_graph_options,
        run_graph,
    )
    from muniment_cli.views.verdicts import dry_outcome, recorded

    graph = graph_in(found)
    if graph is not None:
        return run_graph(ledger, graph, None, wanted)
    refuse_graph_options(wanted, "a program")
    if found.experiment is not None:
        return _experiment(ledger, found.experiment, wanted)
    done = _executed(ledger, found.program, wanted)
    if wanted["mode"] == "dry":
        return dry_outcome(ledger, done, wanted["name"] or found.name)
    return recorded(ledger, done.run_id, done.result_digest)


def _raised_failures(error: Exception) -> bool:
    """Tell whether a file could not be imported because it raised a result's failures."""
    from muniment_plugins.harness.refusals import ExperimentFailed

    return isinstance(error.__cause__, ExperimentFailed)


def _ended_by_program(
    ledger: Ledger, target: str, before: int, end: SystemExit
) -> list[RunOutcome]:
    """Return how the runs of a file that calls ``sys.exit`` ended."""
    from muniment.errors import CannotTellError
    from muniment.runs.privacy.private_errors import said_of
    from muniment_cli.views.verdicts import recorded

    ran, code = [one.id for one in ledger.runs(from_seq=before)], said_of(end, end.code)
    if not ran:
        raise CannotTellError(
            f"it ended the process with {code} before anything was run",
            rule="run/import",
            place=target,
            remedy="let it raise what is wrong, or return",
        ) from end
    hint(f"{target} ended the process with {code}")
    return [recorded(ledger, run) for run in ran]


def _experiment(
    ledger: Ledger, experiment: ExperimentLike, wanted: Wanted
) -> RunOutcome:
    from muniment_cli.views.verdicts import recorded

    own = [key for key in ("name", "labels") if wanted[key]]
    own += ["tenant"] if wanted["tenant"] != "default" else []
    own += ["dry"] if wanted["mode"] == "dry" else []
    if own:
        raise click.UsageError(f"an experiment takes no --{own[0].rstrip('s')}")
    _check_options(experiment, wanted["params"])
    ended = experiment.run(ledger=ledger, **wanted["params"])
    digest = getattr(ended, "result_digest", None)
    return recorded(ledger, str(getattr(ended, "run_id", "")), digest)


def _check_options(experiment: ExperimentLike, given: dict[str, object]) -> None:
    """Refuse options that the experiment's ``run`` does not take, before it starts."""
    signature = inspect.signature(experiment.run)
    try:
        signature.bind(ledger=None, **given)
    except TypeError as error:
        takes = ", ".join(name for name in signature.parameters if name != "ledger")
        raise click.UsageError(
            f"the experiment does not fit its -p: {error}; it takes {takes or 'none'}"
        ) from error


def _executed(ledger: Ledger, program: Program, wanted: Wanted) -> Done:
    from muniment_cli.replay.targets import is_async

    if wanted["mode"] == "dry":
        _refuse_dry_where_strict()
    _check_params(program, wanted["params"])
    how = _How(
        params=wanted["params"],
        name=wanted["name"],
        labels=wanted["labels"],
        tenant=wanted["tenant"],
        mode=wanted["mode"],
    )
    if is_async(program):
        return asyncio.run(ledger.aexecute(program, **how))
    return ledger.execute(program, **how)


def _refuse_dry_where_strict() -> None:
    """Refuse a dry run where the environment forbids them."""
    from muniment.errors import RefusedError
    from muniment_plugins.governance.flows.agreement import STRICT_VARIABLE, is_strict

    if is_strict():
        raise RefusedError(
            f"{STRICT_VARIABLE} forbids dry runs",
            rule="run/strict",
            place="--dry",
            remedy=f"unset {STRICT_VARIABLE}, or run it live",
        )


def _check_params(program: Program, params: dict[str, object]) -> None:
    """Refuse params that the program does not take, before a run is opened."""
    try:
        signature = inspect.signature(program)
    except ValueError:
        return  # a builtin without a signature
    try:
        signature.bind(None, **params)
    except TypeError as error:
        takes = ", ".join(map(str, [*signature.parameters.values()][1:])) or "none"
        raise click.UsageError(
            f"the program does not fit its -p: {error}; it takes {takes}"
        ) from error
