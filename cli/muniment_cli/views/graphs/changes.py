"""The stages by which two runs of graphs differ.

    stage    change   what
    check.1  changed  branch: passed, failed

Rule: it says how many stages both have, so that no difference is not taken for nothing
compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment_cli.terminal.output import Cell, count, say, table

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_cli.terminal.fitting import Give

__all__ = ["show_changed_stages", "stages_of_both"]

_GIVES: dict[str, Give] = {"stage": "start", "what": "first"}


def stages_of_both(ledger: Ledger, one: str, other: str) -> dict[str, Any] | None:
    """Return how the stages of two runs differ; None unless both walk graphs."""
    from muniment_plugins.evals import run_record_diff
    from muniment_plugins.workflow.records.record import walks_graph

    if not (walks_graph(ledger, one) and walks_graph(ledger, other)):
        return None
    return run_record_diff(ledger, one, other)


def show_changed_stages(found: dict[str, Any]) -> None:
    """Print the stages that differ, and how much was compared."""
    say()
    compared = found["compared"]
    rows: list[list[Cell]] = [
        [one["stage_id"], one["change"], "; ".join(one["details"])]
        for one in found["stage_diffs"]
    ]
    if rows:
        table(["stage", "change", "what"], rows, gives=_GIVES)
    changed = len(found["stage_diffs"])
    both = f"{count(compared['stages'], 'stage')} of both compared"
    if compared["runs_below"]:
        both += f", in {count(compared['runs_below'] + 1, 'run')}"
    contents = count(compared["contents"], "content")
    say(f"{both}, with {contents}; {changed} differ")
    if found["undecided"]:
        gone = count(len(found["undecided"]), "content")
        say(f"{gone} erased: nobody can tell", "yellow")
