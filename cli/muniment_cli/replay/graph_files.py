"""Graphs as files: planned, run, and found again for a run that walks one.

Rules:

- The params of a graph are its options: ``-p max_steps=8``.
- A file that is given as an artifact is a workspace file, with its path and its text; a
  JSON object with ``"_type": "artifact"`` is the artifact that it describes.
- In Python a graph is an object of `workflow_graph`, a dictionary with ``nodes`` or ``act``,
  or what a function that needs no arguments returns as one of these. A program takes a
  run, so it is none. While the function makes it, nothing is run or written to a ledger.
- The Python file is imported as one with a program is; its functions are the handlers, by
  which a resume, a replay and a fork find them again.
- A recorded graph is found again by its record. A file that is named in its place is run
  with what the record says of task, artifacts and options.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from muniment_cli.replay.graph_input import read_graph_document, shown_name
from muniment_cli.replay.targets import load_source
from muniment_cli.shell.policies import under
from muniment_cli.terminal.output import complain

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment_cli.replay.targets import Target, Wanted
    from muniment_cli.views.verdicts import RunOutcome
    from muniment_plugins.governance.documents.policy import GovernancePolicy
    from muniment_plugins.workflow import Artifact, WorkflowGraph
    from muniment_plugins.workflow.engine.program import WorkflowProgram

__all__ = [
    "document_named",
    "given_artifact",
    "graph_in",
    "graph_named",
    "is_in_python",
    "named_graph",
    "plan_graph",
    "refuse_graph_options",
    "run_graph",
]

_MOST = 1 << 20


def document_named(target: str, family: str = "workflow") -> dict[str, JsonValue]:
    """Return the document in the file *target*, or that of the pipe.

    Raises:
        UsageError: it cannot be read.
        CannotTellError: it is in a Python file, which cannot be imported.

    """
    if is_in_python(target):
        return dict(_graph_in_python(target).document)
    return read_graph_document(target, family)


def graph_named(target: str) -> WorkflowGraph:
    """Return the graph in the file *target*, or that of the pipe.

    Raises:
        UsageError: it cannot be read, or has a mistake of form.
        CannotTellError: it is in a Python file, which cannot be imported.

    """
    from muniment_plugins.workflow import WorkflowGraph

    if is_in_python(target):
        return _graph_in_python(target)
    return WorkflowGraph.from_document(read_graph_document(target), shown_name(target))


def is_in_python(target: str) -> bool:
    """Tell whether *target* names something in a Python file, or in a module."""
    place, _, name = target.rpartition(":")
    parts = [*name.split("."), *place.removesuffix(".py").split(".")]
    named = all(part.isidentifier() for part in name.split("."))
    return named and (place.endswith(".py") or all(map(str.isidentifier, parts)))


def _graph_in_python(target: str) -> WorkflowGraph:
    """Return the graph that *target* names, as `is_in_python` says that it may.

    Raises:
        UsageError: it names no graph, or one with a mistake of form.
        CannotTellError: importing the file fails, or calling the function.

    """
    from muniment.errors import UsageError

    found = graph_in(load_source(target).target())
    if found is None:
        raise UsageError(
            "it names no graph",
            rule="run/graph",
            place=target,
            remedy="name a graph, or a function that needs no arguments and returns one",
        )
    return found


def graph_in(target: Target) -> WorkflowGraph | None:
    """Return the graph of *target*; None if it is something else.

    Raises:
        UsageError: it is a function that returns no graph, or the graph has a mistake.
        CannotTellError: the function raised.

    """
    from muniment.errors import UsageError
    from muniment_plugins.workflow import WorkflowGraph

    made = target.value
    if _needs_nothing(made):
        made = _returned(target)
        if not isinstance(made, WorkflowGraph | Mapping):
            raise UsageError(
                f"it returns a value of the type {type(made).__name__}, and no graph",
                rule="run/graph",
                place=target.name,
                remedy="return a graph; a program's first argument is called run",
            )
    elif isinstance(made, Mapping) and not made.keys() & {"nodes", "act"}:
        return None
    if isinstance(made, WorkflowGraph):
        return made
    if isinstance(made, Mapping):
        graph = cast("Mapping[str, object]", made)
        return WorkflowGraph.from_document(graph, target.name)
    return None


def _needs_nothing(value: object) -> bool:
    """Tell whether *value* is a plain function that needs no arguments."""
    if not inspect.isfunction(value) or inspect.iscoroutinefunction(value):
        return False
    needed = inspect.Parameter.empty
    given = inspect.signature(value).parameters.values()
    named = [
        one for one in given if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    return len(named) == len(given) and all(one.default is not needed for one in named)


def _returned(target: Target) -> object:
    from muniment.errors import CannotTellError, MunimentError
    from muniment.programs.import_guard import importing
    from muniment.runs.privacy.private_errors import said_of

    try:
        with importing(target.name):
            return target.program()
    except MunimentError:
        raise
    except Exception as error:
        raise CannotTellError(
            f"it returns no graph: {type(error).__name__}: {said_of(error, error)}",
            rule="run/import",
            place=target.name,
            remedy="--debug shows the traceback",
        ) from error


def run_graph(
    ledger: Ledger,
    graph: WorkflowGraph,
    policy: GovernancePolicy | None,
    wanted: Wanted,
) -> RunOutcome:
    """Run *graph* under *policy*, as *wanted*.

    Raises:
        UsageError: artifacts or options are wrong.
        RefusedError: it cannot run, or may not.

    """
    from muniment_cli.views.verdicts import RunOutcome, recorded
    from muniment_plugins.workflow import workflow_execute

    if wanted["mode"] == "dry":
        plan = plan_graph(graph, wanted, ledger)
        return RunOutcome(None, wanted["name"] or graph.name, "dry", cast("Any", plan))
    _warn(graph, ledger)
    with under(ledger, policy):
        done = workflow_execute(
            ledger,
            wanted["task"] or "",
            graph,
            [given_artifact(one) for one in wanted["artifacts"]],
            wanted["params"],
            name=wanted["name"],
            labels=wanted["labels"],
            tenant=wanted["tenant"],
        )
    return recorded(ledger, done.run_id, done.result_digest)


def _warn(graph: WorkflowGraph, ledger: Ledger) -> None:
    """Say what is odd about *graph*, which runs all the same."""
    from muniment_cli.views.graphs.findings import finding_line
    from muniment_plugins.workflow import workflow_validate
    from muniment_plugins.workflow.nodes.box import kinds_of

    report = workflow_validate(graph, kinds=kinds_of(ledger.plugins))
    for one in report.warnings:
        complain("warning", finding_line(graph.place, one))


def plan_graph(
    graph: WorkflowGraph, wanted: Wanted, ledger: Ledger | None = None
) -> dict[str, Any]:
    """Return what *graph* would do.

    Raises:
        UsageError: artifacts or options are wrong.
        RefusedError: it cannot run.

    """
    from muniment.plugins import Plugins
    from muniment_plugins.workflow import planned_workflow, workflow_plan

    program = planned_workflow(
        Plugins() if ledger is None else ledger.plugins,
        wanted["task"] or "",
        graph,
        [given_artifact(one) for one in wanted["artifacts"]],
        wanted["params"],
    )
    return workflow_plan(program)


def given_artifact(path: str) -> Artifact:
    """Return the file *path* as an artifact.

    Raises:
        UsageError: there is no such file, or it is no text.

    """
    from muniment.encoding.canonical import sha256_tag
    from muniment.errors import UsageError
    from muniment.files.folder import read_given
    from muniment_plugins.workflow import artifact
    from muniment_plugins.workflow.artifacts.hosting.host_artifacts import (
        artifact_workspace_file,
    )

    try:
        text = read_given(Path(path), _MOST).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(
            f"it cannot be given: {why[:1].lower()}{why[1:]}",
            rule="run/artifact",
            place=f"--artifact {path}",
            remedy="give a text file, of at most 1 MiB",
        ) from None
    described = _described(path)
    if described is not None:
        return artifact(described)
    # Made from what is given, so that the same run has the same plan and digests again.
    named = sha256_tag(f"{path}\0{text}".encode()).removeprefix("sha256:")[:32]
    return artifact_workspace_file(path, text, {"id": f"artifact_{named}"})


def _described(path: str) -> Mapping[str, object] | None:
    """Return the artifact that a JSON file describes; None if it is another file."""
    import json

    if not path.lower().endswith(".json"):
        return None
    try:
        said: object = json.loads(Path(path).read_text("utf-8"))
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    found = cast("Mapping[str, object]", said)
    return found if found.get("_type") == "artifact" else None


def named_graph(
    ledger: Ledger, run: str, graph: WorkflowGraph, act: str
) -> WorkflowProgram:
    """Return the program of *graph*, as the recorded *run* would walk it.

    The *act* ``resume`` goes on in the folder that the run works in, where its files are.

    Raises:
        RefusedError: that folder is not here.
        UsageError: the run walks no graph.

    """
    from muniment.errors import UsageError
    from muniment.runs.resume import params_of
    from muniment_plugins.workflow import planned_workflow
    from muniment_plugins.workflow.runtime.workplaces import (
        require_there,
        stated_folder,
    )

    (started,) = ledger.events(run=run, limit=1)
    said = cast("Mapping[str, Any]", params_of(ledger, started))
    if "graph" not in said or "pins" not in said:
        raise UsageError(
            "the run walks no graph",
            rule="workflow/run",
            place=f"run {run}",
            remedy="name the run's own program",
        )
    known = stated_folder(ledger, run) if act == "resume" else None
    if known is not None:
        require_there(known, run)
    program = planned_workflow(
        ledger.plugins,
        said["task"],
        graph,
        said["artifacts"],
        said["options"],
        folder=known,
    )
    pins = said["pins"]
    return replace(
        program,
        generation=pins.get("generation", 1),
        prefix=pins.get("prefix", ""),
    )


def refuse_graph_options(wanted: Wanted, what: str) -> None:
    """Refuse the options that only graphs take, for something else.

    Raises:
        click.UsageError: one is there.

    """
    given = (
        ("task", wanted["task"]),
        ("artifact", wanted["artifacts"]),
        ("ceiling", wanted["ceiling"]),
    )
    for name, value in given:
        if value:
            raise click.UsageError(f"{what} takes no --{name}: only a graph does")
