"""The budget table of a governed run, and what a list says of runs beside their status.

    policy  tested, sha256:9f86…

    whose    limit                         spent  allowed  action
    policy   max_count of external_oracle  3      3        halt

Rules: the numbers are read from the events, whether or not the plugin is loaded. A
limit that is used up is in colour. A run that no policy governs costs nothing.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from muniment_cli.terminal.output import Cell, fields, say, table
from muniment_cli.views.event_view import status_style

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment.queries.run_summary import RunSummary
    from muniment_cli.terminal.fitting import Give
    from muniment_plugins.governance.budgets.table import BudgetRow, BudgetTable

__all__ = ["budget_json", "marked_status", "show_budgets"]

_LABEL = "policy"


def marked_status(ledger: Ledger, record: RunSummary) -> Cell:
    """Return the status of a run, and beside it that a budget halted it, or its mark."""
    said: list[tuple[str, str]] = [status_style(record.status)]
    if record.status == "failed" and record.types.get("budget.exhausted"):
        from muniment_plugins.governance.authority import own_facts

        started = ledger.events(run=record.id, limit=1)
        facts = ledger.events(run=record.id, type="budget.exhausted")
        own = own_facts(chain(started, facts))
        if any(one.raw.get("action") == "halt" for one in own):
            said.append((" by budget", "yellow"))
    if record.marks:
        said.append((" marked", "yellow"))
    return said


def budget_json(ledger: Ledger, record: RunSummary) -> JsonValue:
    """Return the budget table of a run as plain JSON; None if nothing governs it."""
    found = _table(ledger, record)
    if isinstance(found, str):
        return {"run": record.id, "unreadable": found}
    return None if found is None else found.to_json()


def show_budgets(ledger: Ledger, record: RunSummary) -> None:
    """Print under which policy a run is, and what it has spent; nothing for others."""
    found = _table(ledger, record)
    if found is None:
        return
    pairs: list[tuple[str, Cell]] = []
    if isinstance(found, str):
        pairs.append(("policy", (f"it cannot be read: {found}", "yellow")))
    else:
        pairs.append(("policy", f"{found.policy}, {found.digest}, {found.mode}"))
        if found.run != record.id:
            pairs.append(("  of run", f"{found.run}, which called it"))
        if not found.rows:
            pairs.append(("  limits", "none"))
    say()
    fields(pairs)
    if not isinstance(found, str) and found.rows:
        say()
        _show_rows(found.rows)


def _table(ledger: Ledger, record: RunSummary) -> BudgetTable | str | None:
    """Return the budget table of a run, or why it cannot be read."""
    if _LABEL not in record.labels:
        return None
    from muniment.errors import MunimentError
    from muniment_plugins.governance.budgets.table import budget_table

    try:
        return budget_table(ledger, record.id)
    except MunimentError as error:
        return error.message


def _show_rows(rows: tuple[BudgetRow, ...]) -> None:
    headings = ["whose", "limit", "spent", "allowed", "action"]
    gives: dict[str, Give] = {"limit": "never", "whose": "first"}
    cells: list[list[Cell]] = [
        [one.budget, one.limit, _spent(one), f"{one.allowed:,.12g}", one.action]
        for one in rows
    ]
    table(headings, cells, right=["spent", "allowed"], gives=gives, upright=True)


def _spent(row: BudgetRow) -> Cell:
    text = f"{row.spent:,.12g}" if not row.unknown else f"{row.spent:,.12g} + unknown"
    return (text, "yellow") if row.is_used_up else text
