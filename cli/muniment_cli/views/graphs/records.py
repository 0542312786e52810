"""The record of a run of a graph, as a table of its stages and as a tree of runs.

    node   visit  in            ended    attempts  made  broke
    act        1                success         1     1
    lint       1  fork.1/lint   failed          2     0  effect/failed

Rules:

- Work on the items of a map is counted in its row; the tree has a line for each.
- A run that is marked says so behind its status.
- Where somebody else answered instead of what would have been performed, the line says who.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment_cli.terminal.output import Cell, console, one_line, say, styled, table
from muniment_cli.views.event_view import short, status_style
from muniment_cli.views.explaining.reasons import marked_words

if TYPE_CHECKING:
    from rich.tree import Tree

    from muniment.ledger import Ledger
    from muniment_cli.terminal.fitting import Give

__all__ = ["record_of", "show_graph_tree", "show_stages"]

_GIVES: dict[str, Give] = {"in": "start", "broke": "first", "node": "never"}


def record_of(
    ledger: Ledger, run: str, *, private: bool = False
) -> dict[str, Any] | None:
    """Return the record of *run*; None if it walks no graph."""
    from muniment_plugins.workflow.records.record import run_record, walks_graph

    if not walks_graph(ledger, run):
        return None
    return run_record(ledger, run, private=private)


def show_stages(record: dict[str, Any]) -> None:
    """Print the stages of *record*, and where it goes on if it does."""
    say()
    rows = [_row(one) for one in record["stages"] if "item_of" not in one]
    headings = ("node", "visit", "in", "ended", "attempts", "made", "broke")
    table(headings, rows, right=("visit", "attempts", "made"), gives=_GIVES)
    _show_turns(record)
    waiting = record["queue"]["pending_nodes"]
    if waiting:
        say(f"goes on at {', '.join(waiting)}")


def _show_turns(record: dict[str, Any]) -> None:
    """Print the turns of loops, if there are any: who was asked, and what it called."""
    rows: list[list[Cell]] = [
        [
            f"{_plain(stage['id'])}",
            str(turn["turn"]),
            turn["model"],
            ", ".join(_called(one) for one in turn["calls"]),
            _turn_ended(stage["agent"], turn),
            str(turn["event"]),
        ]
        for stage in record["stages"]
        if "agent" in stage
        for turn in stage["agent"]["turns"]
    ]
    if rows:
        say()
        headings = ("loop", "turn", "model", "called", "then", "event")
        table(headings, rows, right=("turn", "event"), gives={"loop": "never"})


def _called(call: dict[str, Any]) -> str:
    why = call.get("code") or call.get("error_type")
    status = "" if call["status"] == "done" else f" {call['status']}"
    tool = call.get("tool", "(private)")
    if not isinstance(tool, str):
        tool = "(erased)"
    return one_line(f"{tool}{status}{f' ({why})' if why else ''}")


def _turn_ended(loop: dict[str, Any], turn: dict[str, Any]) -> str:
    """Return why a loop went on after *turn*, or ended with it."""
    if turn is loop["turns"][-1]:
        return str(loop.get("reason", ""))
    corrected = turn.get("corrected")
    return "" if corrected is None else f"told: {corrected['code']}"


def _row(stage: dict[str, Any]) -> list[Cell]:
    tried = [one for one in stage["attempts"] if not one.get("superseded")]
    return [
        stage["node_id"],
        str(stage["visit"]),
        _plain(stage["scope"]),
        _ended(stage),
        str(len(tried)),
        str(len(stage["produced_artifact_ids"])),
        _broke(stage),
    ]


def _ended(stage: dict[str, Any]) -> Cell:
    """Return the branch that a stage ended in; its status if it has not, or was cut."""
    word, style = status_style(stage["status"])
    text = stage.get("branch", word)
    items = stage.get("items")
    if items:
        counts = ", ".join(f"{count} {how}" for how, count in sorted(items.items()))
        text = f"{text}: {counts}"
    return text, style


def _broke(stage: dict[str, Any]) -> Cell:
    if "rule" in stage:
        return f"{stage['rule']}: {short(stage.get('error', ''), 300)}", "red"
    verdict = stage.get("verification")
    others = stage.get("answered")
    if others and (verdict is None or verdict["ok"]):
        return (
            f"not performed: {', '.join(dict.fromkeys(map(_other, others)))}",
            "yellow",
        )
    if verdict and not verdict["ok"] and isinstance(verdict["checks"], list):
        kinds = [str(one["kind"]) for one in verdict["checks"] if not one["ok"]]
        return ", ".join(kinds), "red"
    return ""


def _other(answer: dict[str, Any]) -> str:
    """Return which effect nobody performed, and who gave its answer."""
    who = "a change" if answer["who"] == "change" else f"plugin {answer.get('name')}"
    return one_line(f"{answer['kind']} by {who}")


def _plain(path: str) -> str:
    """Return a path without what only tells effects apart."""
    return "/".join(one for one in path.split("/") if not one.startswith("@"))


def show_graph_tree(tree: dict[str, Any]) -> None:
    """Print a run of a graph, its stages, and below these the runs that they called."""
    from rich.tree import Tree

    root = Tree(styled((_title(tree["run"]), "bold")))
    _grow(root, tree)
    console().print(root)


def _title(run: dict[str, Any]) -> str:
    name = run.get("workflow_name") or run.get("workflow_id") or ""
    told = [(one["mark"], short(one["reason"], 300)) for one in run.get("marks", [])]
    status = f"{run.get('status', '')}{marked_words(told)}"
    return one_line(f"{run['id']}  {name}  {status}")


def _grow(root: Tree, tree: dict[str, Any]) -> None:
    """Add stages below the path that they are on, and runs below the stage that called."""
    branches: dict[str, Tree] = {"": root}
    calls = {
        one["run_id"]: one.get("parent_stage_id", "")
        for one in tree["run"].get("child_runs", [])
    }
    for stage in tree["run"].get("stages", []):
        at = _at(branches, stage["scope"])
        kind = "" if stage["kind"] == stage["node_id"] else f" {stage['kind']}"
        text = styled(one_line(f"{stage['node_id']}{kind}  "))
        text.append_text(styled(_ended(stage)))
        broke = _broke(stage)
        if broke:
            text.append("  ").append_text(styled(broke))
        branches[stage["id"]] = at.add(text)
    for child in tree["children"]:
        above = branches.get(calls.get(child["run"]["id"], ""), root)
        text = styled((_title(child["run"]), "bold"))
        if child.get("cycle"):
            text.append("  (above)")
        _grow(above.add(text), child)


def _at(branches: dict[str, Tree], path: str) -> Tree:
    """Return the branch of the tree that *path* is drawn at."""
    if path not in branches:
        above, _, last = path.rpartition("/")
        at = _at(branches, above)
        branches[path] = at if last.startswith("@") else at.add(styled((last, "dim")))
    return branches[path]
