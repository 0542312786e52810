"""What a graph would do, in lines for people."""

from __future__ import annotations

from typing import Any

from muniment_cli.terminal.output import Cell, fields, say, table

__all__ = ["show_graph_plan"]


def show_graph_plan(plan: dict[str, Any]) -> None:
    """Print the plan of a graph: what it is, and its nodes in their order."""
    options = ", ".join(f"{name} {value}" for name, value in plan["options"].items())
    rows: list[tuple[str, Cell]] = [
        ("workflow", f"{plan['workflow']}, version {plan['version']}"),
        ("task", plan["task"] or "-"),
        ("artifacts", ", ".join(one["id"] for one in plan["artifacts"]) or "none"),
        ("options", options),
        ("graph", plan["graph"]),
    ]
    if "policy" in plan:
        rows.append(("policy", f"{plan['policy']['name']} {plan['policy']['digest']}"))
    fields([*rows, ("plan", plan["plan"])])
    say()
    table(
        ("node", "kind", "does", "then"),
        [
            (one["node"], one["kind"], one["does"], ", ".join(map(_way, one["then"])))
            for one in plan["steps"]
        ],
    )


def _way(way: dict[str, str]) -> str:
    return f"{way['branch']}: {way['to']}" if "branch" in way else way["to"]
