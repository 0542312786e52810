"""Running graphs on a ledger.

    done = workflow_execute(ledger, "Fix the diagnostic.", graph, [selection],
                            {"max_steps": 8})
    done.status, done.run_id, done.artifacts

Rules:

- Whatever is wrong with graph, functions, contracts or options is refused before anything
  is run. A graph that cannot run leaves a signed ``workflow.refused``, with the findings.
- A workflow that is started twice with one key is started once; something else that is
  started with that key is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError
from muniment.queries.run_summary import RunSummaries
from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.continuing import (
    WorkflowDone,
    as_it_is,
    awaited_run,
    following,
    goes_on,
    gone_on,
    performed,
    refuse_running_loop,
    terms_of,
)
from muniment_plugins.workflow.contracts.contract_files import (
    contract_files,
    with_contracts,
)
from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.documents.subgraphs import graphs_in, with_bodies
from muniment_plugins.workflow.engine.assembly import (
    assembled,
    rebuild,
    require_each_once,
)
from muniment_plugins.workflow.engine.keyed_starts import (
    key_of,
    known_start,
    refuse_another,
    require_series,
)
from muniment_plugins.workflow.engine.needs import require_needs
from muniment_plugins.workflow.engine.options import (
    WorkflowOptions,
    named_executor,
    options_of,
    require_task,
)
from muniment_plugins.workflow.engine.program import WorkflowProgram
from muniment_plugins.workflow.engine.refusals import GraphRefusal
from muniment_plugins.workflow.mailbox.sending import SentMail, send_control
from muniment_plugins.workflow.mailbox.views import require_workflow
from muniment_plugins.workflow.nodes.agent import unready_findings
from muniment_plugins.workflow.nodes.box import kinds_of
from muniment_plugins.workflow.stages.remote_calls import require_importable
from muniment_plugins.workflow.validation.callables import call_findings
from muniment_plugins.workflow.validation.checks import workflow_validate

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.plugins import Plugins

__all__ = [
    "WorkflowDone",
    "gone_on",
    "planned_workflow",
    "ready_workflow",
    "workflow_aexecute",
    "workflow_continue",
    "workflow_continue_as_new",
    "workflow_execute",
    "workflow_resume",
]


_Wanted: TypeAlias = tuple[str, GraphLike, Sequence[Artifact], Mapping[str, object]]
"""Task, graph, artifacts and options of a start."""


def ready_workflow(
    ledger: Ledger,
    task: str,
    graph: GraphLike,
    artifacts: Iterable[object] | None = (),
    options: Mapping[str, object] | None = None,
) -> WorkflowProgram:
    """Return *graph* as a program that can be run on *ledger*.

    Raises:
        UsageError: a function, a file or an option is not there, or the graph has a
            mistake of form.
        RefusedError: the graph cannot run.

    Whatever is wrong with the graph is recorded; what is wrong with the task, the options
    and the artifacts is not.

    """
    refusal = GraphRefusal(graph, [])
    with refusal.recorded(ledger):
        return _ready(ledger.plugins, task, artifacts, options, refusal)


def planned_workflow(
    plugins: Plugins,
    task: str,
    graph: GraphLike,
    artifacts: Iterable[object] | None = (),
    options: Mapping[str, object] | None = None,
    *,
    folder: str | None = None,
) -> WorkflowProgram:
    """Return *graph* as a program, as `ready_workflow` does, without a ledger.

    Args:
        plugins: what adds kinds of nodes, and executors.
        task: what the run is to do.
        graph: a graph, its document, or the name of its file.
        artifacts: what it is given.
        options: how it is run.
        folder: where the files of contracts are, if not where the option ``cwd`` says.

    Raises:
        UsageError: a function, a file or an option is not there.
        RefusedError: the graph cannot run.

    """
    return _ready(plugins, task, artifacts, options, GraphRefusal(graph, []), folder)


def _ready(
    plugins: Plugins,
    task: str,
    artifacts: Iterable[object] | None,
    options: Mapping[str, object] | None,
    refusal: GraphRefusal,
    folder: str | None = None,
) -> WorkflowProgram:
    require_task(task)
    options, executor = named_executor(options)
    options_of(options, 1)  # a mistake of theirs is none of the graph
    given = _given(artifacts)
    require_each_once(given)
    found = plugins.executor(executor) if executor is not None else None
    with refusal.about_the_graph("FORM_"):
        typed = refusal.graph = workflow_graph(refusal.graph)
    chosen = options_of(options, len(typed.nodes))
    if folder is None:
        _require_folder(chosen)
    with refusal.about_the_graph():
        faults, files = _faults(typed, chosen, plugins, Path(folder or chosen.cwd))
        _require(typed, faults, refusal)
    if found is not None:
        found.require()
    with refusal.about_the_graph():
        require_needs(typed)
        made = assembled(
            typed, task, given, chosen, plugins, files=files, executor=found
        )
        called = [one.document() for one in call_findings(typed, made.functions)]
        _require(typed, called, refusal)
        if found is not None and found.reach != "here":
            for one in made.functions.values():
                require_importable(one, found.name)
    return made


def _require(
    graph: WorkflowGraph, faults: list[dict[str, JsonValue]], refusal: GraphRefusal
) -> None:
    """Refuse a *graph* with *faults*.

    Raises:
        RefusedError: there are some.

    """
    if faults:
        refusal.findings += faults
        raise _refused(graph, faults)


def _require_folder(options: WorkflowOptions) -> None:
    if not Path(options.cwd).is_dir():
        at = At("options", "workflow").key("cwd")
        raise at.wrong(f"there is no folder {options.cwd}", "value", "make it first")


def _faults(
    graph: WorkflowGraph, options: WorkflowOptions, plugins: Plugins, folder: Path
) -> tuple[list[dict[str, JsonValue]], Mapping[str, Mapping[str, JsonValue]]]:
    """Return the findings for which *graph* cannot run, and its contracts in *folder*.

    Raises:
        UsageError: a contract is not there, or says what nothing checks.

    """
    kinds = kinds_of(plugins)
    report = workflow_validate(graph, options.ceiling or None, kinds=kinds)
    if report.errors:
        return [one.document() for one in report.errors], {}
    files = contract_files(graph, folder)
    if files:
        whole = with_contracts(graph, files)
        report = workflow_validate(whole, options.ceiling or None, kinds=kinds)
    unready = [
        found
        for one in graphs_in(graph)
        for node in one.nodes.values()
        for inner in with_bodies(node)
        for found in unready_findings(inner)
    ]
    return [one.document() for one in (*report.errors, *unready)], files


def _refused(
    graph: WorkflowGraph, findings: list[dict[str, JsonValue]]
) -> RefusedError:
    """Return the error that says why *graph* is not run."""
    first, more = findings[0], len(findings) - 1
    others = f", and {more} more" if more else ""
    return RefusedError(
        f"{first['code']}: {first['message']}{others}",
        rule="workflow/invalid",
        place=f"{graph.place}: {first['place']}",
        remedy=str(first.get("remedy", "")),
    )


def workflow_execute(  # noqa: PLR0913 - a run has these parts
    ledger: Ledger,
    task: str,
    graph: GraphLike,
    artifacts: Iterable[object] | None = (),
    options: Mapping[str, object] | None = None,
    *,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    tenant: str = "default",
    seed: str | None = None,
    key: str | None = None,
) -> WorkflowDone:
    """Run *graph* on *ledger*; with a *key*, once: the option of that name is the same.

    Raises:
        UsageError: a function, a file or an option is not there, or there are two keys; or
            a function must be awaited, and an event loop runs here already.
        RefusedError: the graph cannot run, or may not, or something else was started with
            the key.

    """
    given, said = _given(artifacts), _keyed(options, key)
    if (known := _started(ledger, (task, graph, given, said), tenant)) is not None:
        return known
    program = ready_workflow(ledger, task, graph, given, said)
    how = terms_of(program, name, labels, tenant, seed)
    return gone_on(performed(ledger, program, how), program)


def workflow_continue(ledger: Ledger, run: str) -> WorkflowDone:
    """Go on as new where *run* said so and its process ended; return the last run.

    A run that goes on already is returned as it is, so this can be called twice.

    Raises:
        UsageError: there is no such run, or it walks no graph.
        RefusedError: it did not say that it goes on as new.

    """
    chosen = require_workflow(ledger, run)
    program = rebuild(ledger, chosen)
    done = as_it_is(ledger, chosen)
    if program is None or not goes_on(done):
        raise RefusedError(
            f"the run is {done.status}, and does not go on as new",
            rule="workflow/continue",
            place=f"run {chosen}",
            remedy="`muniment resume RUN` continues one that was cut off",
        )
    return gone_on(done, program)


def workflow_continue_as_new(
    ledger: Ledger, run: str, task: str | None = None
) -> SentMail:
    """Let *run* end at its next step, and the workflow go on as new.

    Raises:
        UsageError: there is no such run, or it walks no graph.

    """
    if task is not None:
        require_task(task)
    return send_control(ledger, run, "continue_as_new", {"task": task})


def workflow_resume(ledger: Ledger, run: str) -> SentMail | WorkflowDone:
    """Take back the pauses that *run* has not come to; continue it if it has stopped.

    Raises:
        UsageError: there is no such run, or it walks no graph.
        RefusedError: it is complete or canceled.

    """
    chosen = require_workflow(ledger, run)
    if ledger.project(RunSummaries, run=chosen).status == "open":
        return send_control(ledger, chosen, "resume")
    program = rebuild(ledger, chosen)
    if program is not None and program.is_async:
        refuse_running_loop(program)
        done = awaited_run(ledger.aresume(chosen, program))
    else:
        done = ledger.resume(chosen, program)
    ended = WorkflowDone(done, ledger)
    return ended if program is None else gone_on(ended, program)


async def workflow_aexecute(  # noqa: PLR0913 - as above
    ledger: Ledger,
    task: str,
    graph: GraphLike,
    artifacts: Iterable[object] | None = (),
    options: Mapping[str, object] | None = None,
    *,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    tenant: str = "default",
    seed: str | None = None,
    key: str | None = None,
) -> WorkflowDone:
    """Do as `workflow_execute` does, in the running event loop."""
    given, said = _given(artifacts), _keyed(options, key)
    if (known := _started(ledger, (task, graph, given, said), tenant)) is not None:
        return known
    program = ready_workflow(ledger, task, graph, given, said)
    how = terms_of(program, name, labels, tenant, seed)
    done = WorkflowDone(await ledger.aexecute(program, **how), ledger)
    while True:
        done, program, then = following(done, program)
        if then is None:
            return done
        done = WorkflowDone(await ledger.aexecute(program, **then), ledger)


def _given(artifacts: Iterable[object] | None) -> list[Artifact]:
    return [artifact(one) for one in (() if artifacts is None else artifacts)]


def _keyed(options: Mapping[str, object] | None, key: str | None) -> dict[str, object]:
    found = key_of(options, key)
    return dict(options or {}) if found is None else {**(options or {}), "key": found}


def _started(ledger: Ledger, wanted: _Wanted, tenant: str) -> WorkflowDone | None:
    """Return the run that has the key, as it is now; None if none was started.

    Raises:
        RefusedError: it was started with something else, or nobody can tell.

    """
    task, graph, artifacts, options = wanted
    if "key" not in options:
        return None
    require_task(task)
    typed = workflow_graph(graph)
    chosen = options_of(named_executor(options)[0], len(typed.nodes))
    require_series(ledger, str(chosen.key))
    first = known_start(ledger, str(chosen.key))
    if first is None:
        return None
    params = {
        "task": task,
        "graph": dict(typed.document),
        "artifacts": [one.to_json() for one in artifacts],
        "options": chosen.to_json(),
    }
    refuse_another(ledger, first, params, tenant)
    return as_it_is(ledger, str(first.run))
