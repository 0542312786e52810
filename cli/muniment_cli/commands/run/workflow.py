"""``muniment workflow``: graphs as documents, validated and looked at, and their runs.

Rules: what takes a file needs no ledger, but for a commit. What is wrong with a graph is
one line each: code, place, message, remedy. The exit code is 0 if the graph can run, else
1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muniment_cli.commands.run.workflow_edits import COMMANDS
from muniment_cli.commands.run.workflow_mail import MAIL_COMMANDS
from muniment_cli.replay.graph_files import document_named, graph_named
from muniment_cli.replay.graph_input import ceiling_in, shown_name
from muniment_cli.shell.options import examples, json_option
from muniment_cli.shell.policies import ceiling_option
from muniment_cli.terminal.output import count, fields, say, show_json, table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from muniment.encoding.canonical import JsonValue
    from muniment_cli.terminal.output import Cell
    from muniment_plugins.workflow import ValidationReport, WorkflowGraph
    from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["command"]


@click.group(
    "workflow",
    epilog=examples(
        "muniment workflow validate graph.yaml --ceiling ceiling.json",
        "muniment workflow inspect graph.json",
    ),
)
def command() -> None:
    """Validate graphs, look at them, change and commit them; write to their runs.

    `muniment run` runs a graph, `muniment plan` says what it would do.
    """


@command.command("validate", epilog=examples("muniment workflow validate graph.json"))
@click.argument("file", metavar="GRAPH")
@ceiling_option
@json_option
def validate(file: str, *, ceiling: Path | None, as_json: bool) -> int:
    """Say everything that is wrong with a graph, `-` for one that comes by a pipe.

    Functions are not looked for: `muniment plan` finds them.
    """
    document, report = _validated(file, ceiling)
    if as_json:
        show_json(report.document())
        return 0 if report.valid else 1
    for one in report.findings:
        _show_finding(file, one)
    if report.valid:
        from muniment_plugins.workflow import workflow_graph

        graph = workflow_graph(document)
        counts = f"{count(len(graph.nodes), 'node')}, {count(len(graph.edges), 'edge')}"
        say(f"{shown_name(file)}: valid, {counts}, {graph.digest}")
    return 0 if report.valid else 1


def _validated(
    file: str, ceiling: Path | None = None
) -> tuple[Mapping[str, JsonValue], ValidationReport]:
    """Return the document in *file*, and all that is wrong with it as a graph."""
    from muniment.plugins import Plugins
    from muniment_plugins.workflow import workflow_validate
    from muniment_plugins.workflow.nodes.box import kinds_of

    document, held = document_named(file), ceiling_in(ceiling)
    return document, workflow_validate(document, held, kinds=kinds_of(Plugins()))


def _show_finding(file: str, found: WorkflowFinding) -> None:
    from muniment_cli.views.graphs.findings import finding_line

    colour = "yellow" if found.severity == "warning" else "red"
    say(f"{found.severity}: {finding_line(shown_name(file), found)}", colour)


@command.command("inspect", epilog=examples("muniment workflow inspect graph.json"))
@click.argument("file", metavar="GRAPH")
@json_option
def inspect_graph(file: str, *, as_json: bool) -> int:
    """Show a graph: its normal form, its digest, and what is wrong with it."""
    graph = graph_named(file)
    _, report = _validated(file)
    if as_json:
        show_json(
            {
                "workflow": graph.name,
                "version": graph.version,
                "digest": graph.digest,
                "document": dict(graph.document),
                **report.document(),
            }
        )
        return 0 if report.valid else 1
    _show_graph(graph)
    for one in report.findings:
        _show_finding(file, one)
    return 0 if report.valid else 1


def _show_graph(graph: WorkflowGraph) -> None:
    fields(
        [
            ("workflow", graph.name),
            ("version", str(graph.version)),
            ("entry", graph.entry),
            ("digest", graph.digest),
        ]
    )
    say()
    rows: list[list[Cell]] = [
        [
            node.name,
            node.kind,
            node.handler or node.mode or "",
            ", ".join(
                one.target if one.branch is None else f"{one.branch}: {one.target}"
                for one in graph.out(node.name)
            ),
        ]
        for node in graph.nodes.values()
    ]
    table(("node", "kind", "work", "then"), rows)


for _one in (*COMMANDS, *MAIL_COMMANDS):
    command.add_command(_one)
