"""``muniment workflow graph|diff|policy-report|edit|commit``: graphs drawn and changed.

Rules: a file that was written is never written over. Only ``commit`` needs a ledger, which
then has each edit, signed, with what the graph was before and after.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.replay.graph_files import graph_named
from muniment_cli.replay.graph_input import ceiling_in, shown_name
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.shell.policies import ceiling_option
from muniment_cli.terminal.output import complain, say, show_json, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.encoding.canonical import JsonValue
    from muniment_cli.terminal.output import Cell
    from muniment_plugins.workflow import WorkflowGraph
    from muniment_plugins.workflow.findings import WorkflowFinding

__all__ = ["COMMANDS"]

_FILE = click.Path(path_type=Path, dir_okay=False)


def _put(text: str, output: Path | None) -> None:
    """Print *text*, also for ``-``, or write it to the new file *output*."""
    if output is None or str(output) == "-":
        click.echo(text, nl=False)
        return
    from muniment.files.folder import write_new

    try:
        write_new(output, [text.encode()])
    except OSError as error:
        why = error.strerror or str(error)
        raise click.UsageError(
            f"{output} cannot be written ({why}): choose another name, nothing is "
            "overwritten"
        ) from error
    say(f"written to {output}")


@click.command(
    "graph",
    epilog=examples(
        "muniment workflow graph graph.json",
        "muniment workflow graph graph.json --svg -o graph.svg",
    ),
)
@click.argument("file", metavar="GRAPH")
@click.option("--svg", is_flag=True, help="Draw it as SVG, instead of as Mermaid.")
@click.option("-o", "--output", type=_FILE, help="Write the picture to this new file.")
def picture(file: str, *, svg: bool, output: Path | None) -> int:
    """Draw a graph, `-` for one that comes by a pipe.

    A graph that cannot run is drawn, too: what is wrong is said, and the exit code is 1.
    """
    from muniment_plugins.workflow import workflow_mermaid, workflow_svg

    draw, graph = workflow_svg if svg else workflow_mermaid, graph_named(file)
    _put(draw(graph), output)
    return int(_complained(file, _errors(graph)))


def _errors(graph: WorkflowGraph) -> list[WorkflowFinding]:
    from muniment.plugins import Plugins
    from muniment_plugins.workflow import workflow_validate
    from muniment_plugins.workflow.nodes.box import kinds_of

    return [*workflow_validate(graph, kinds=kinds_of(Plugins())).errors]


def _complained(file: str, errors: list[WorkflowFinding]) -> bool:
    """Say what is wrong, and tell whether anything is."""
    from muniment_cli.views.graphs.findings import finding_line

    for one in errors:
        complain("error", finding_line(shown_name(file), one))
    return bool(errors)


@click.command("diff", epilog=examples("muniment workflow diff old.json new.json"))
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@json_option
def difference(old: str, new: str, *, as_json: bool) -> int:
    """Say what is different about a graph; exit code 1 if anything is."""
    from muniment_cli.views.judgements import counted
    from muniment_plugins.workflow import workflow_diff

    found = workflow_diff(graph_named(old), graph_named(new))
    if as_json:
        show_json(found.document())
        return int(found.changed)
    if not found.changed:
        say(f"equal: {counted(found.compared)}")
        return 0
    for one in found.patch:
        value = json.dumps(one["value"], ensure_ascii=False) if "value" in one else ""
        say(f"{one['op']} {one['path']} {value}".rstrip())
    return 1


@click.command(
    "policy-report",
    epilog=examples(
        "muniment workflow policy-report graph.json --ceiling ceiling.json"
    ),
)
@click.argument("file", metavar="GRAPH")
@ceiling_option
@json_option
def policy_report(file: str, *, ceiling: Path | None, as_json: bool) -> int:
    """Say what each node may do at most; exit code 1 if one asks for more."""
    from muniment_cli.views.graphs.findings import finding_line
    from muniment_plugins.workflow import workflow_policy_report

    report = workflow_policy_report(graph_named(file), ceiling_in(ceiling))
    if as_json:
        show_json(report.document())
        return int(not report.validation.valid)
    rows = [row for node in report.nodes for row in _limits(node.document())]
    table(("node", "member", "at most"), rows)
    for found in report.validation.errors:
        say(f"error: {finding_line(shown_name(file), found)}", "red")
    return int(not report.validation.valid)


def _limits(node: Mapping[str, JsonValue]) -> list[list[Cell]]:
    """Return the rows about what a node may do, its name in the first of them."""
    policy = cast("Mapping[str, JsonValue]", node["policy"])
    said = [(member, _listed(value)) for member, value in policy.items()]
    said = said or [("everything", "no policy limits it")]
    for row in cast("list[Mapping[str, JsonValue]]", node.get("refused", [])):
        said.append(("refused", f"{row['what']}: {row['why']}"))
    name = str(node["node_id"])
    return [["" if number else name, *one] for number, one in enumerate(said)]


def _listed(value: JsonValue) -> str:
    """Return a member of a policy as people read it."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(map(str, value)) or "nothing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@click.command(
    "edit",
    epilog=examples("muniment workflow edit graph.json patch.json -o better.json"),
)
@click.argument("file", metavar="GRAPH")
@click.argument("patch", type=_FILE)
@click.option(
    "-o",
    "--output",
    type=_FILE,
    required=True,
    help="Write the graph to this new file.",
)
def edit(file: str, patch: Path, output: Path) -> int:
    """Apply a patch (RFC 6902) to the normal form of a graph.

    A graph that the patch would break is not written: what it would be is said, and the
    exit code is 1. What was wrong before may stay so. GRAPH and the output may be `-`.
    What is written says what it was made of, for `commit`.
    """
    from muniment.documents.reading import read_value
    from muniment_plugins.workflow import workflow_graph
    from muniment_plugins.workflow.edits.lineage import marked
    from muniment_plugins.workflow.edits.patches import apply_patch

    operations = cast("list[Mapping[str, object]]", read_value(patch, "workflow"))
    graph = graph_named(file)
    changed = apply_patch(dict(graph.document), operations, str(patch))
    made = workflow_graph(cast("Mapping[str, object]", changed))
    before = {(one.code, one.place) for one in _errors(graph)}
    new = [one for one in _errors(made) if (one.code, one.place) not in before]
    if _complained("the edited graph", new):
        return 1
    _put(_written(marked(made, graph), str(patch)), output)
    return 0


def _written(document: Mapping[str, JsonValue], patch: str) -> str:
    """Return *document* as a file has it, which *patch* made: one that can be read again."""
    from muniment.documents.reading import MOST
    from muniment.errors import UsageError

    for indent in (2, None):
        text = json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
        if len(text.encode()) <= MOST:
            return text
    raise UsageError(
        f"it makes a graph of more than {MOST} bytes, which no file of one has",
        rule="workflow/patch-size",
        place=patch,
        remedy="leave something out",
    )


@click.command(
    "commit",
    epilog=examples(
        'muniment workflow commit graph.json -m "repair twice at most"',
        "muniment workflow commit by-hand.json --onto 3",
    ),
)
@click.argument("file", metavar="GRAPH")
@click.option("-m", "--reason", default="", help="Why.")
@click.option(
    "--onto",
    metavar="VERSION|DIGEST",
    help="Which commit it follows, if the file does not say it.",
)
@pass_session
def commit(session: Session, file: str, reason: str, onto: str | None) -> None:
    """Commit a graph under its name; what changed since the last commit is recorded.

    A graph that was not made of the one that was committed last is refused, so that it
    undoes nothing. What `edit` wrote says what it was made of; for another file, --onto does.
    """
    from muniment_plugins.workflow import workflow_commit
    from muniment_plugins.workflow.edits.lineage import onto_newest

    with session.open(write=True) as ledger:
        graph = onto_newest(ledger, graph_named(file), onto, reason)
        made = workflow_commit(ledger, graph, reason)
    say(f"{made.name}: version {made.version}, {made.digest}")


COMMANDS = (picture, difference, policy_report, edit, commit)
"""What `muniment workflow` has beside what its own module has."""
