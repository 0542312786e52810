"""Writes docs/reference/run-record.md: the fields of the record of a run of a graph.

Rule: the tables, and the schema beside the page, come from the one table of the code.
The sentences stand here.
"""

from __future__ import annotations

import json

from muniment_plugins.workflow.records.fields import FIELDS, record_schema

__all__ = ["run_record", "run_record_schema"]

_RECORD = """# The record of a run of a graph

`run_record(ledger, run)` returns one JSON object; so does `muniment runs show RUN --json`,
as its `record`. It is a projection: what the events of the run say now. Nothing else is
kept, so a run that fails, waits, was cut off or still runs has one, and an erasure changes
nothing but contents.

A record holds what the engine states, of nodes and edges of the graph that the run began with. A
fact that the engine cannot have stated is in no record, whoever signed it: of a node that the graph
lacks, in the scope of a handler, of a visit that ended, `verified` without a check. If what is left
has not the fields below, the record is refused (`workflow/record`). `muniment events --run RUN` shows
all facts.

- A content that was erased is `{"$erased": "sha256:…"}`, with its commitment.
- A field without a mark is absent where nothing is known; it is never null.
- A fork that begins after a [race](../how-to/workflows.md#forks-and-joins) walks none of its branches or items
  again: the record has no visits of them, but what the answer of the race says that they made.
- Times are RFC 3339 in UTC, with six decimals.
- `run-record.schema.json`, beside this page, is its JSON Schema (2020-12).
- `load_run_tree(ledger, run)` returns `{"run": …, "children": […]}`: the record, and the
  same of each run that it called. A run whose program is not the engine (`muniment:workflow/1`,
  `muniment:async-workflow/1`) walks no graph, whatever it states: it is there by its identity
  and its marks.
"""
_HEAD = "\n| field | | form | |\n|---|---|---|---|\n"


def run_record() -> str:
    """Return the page."""
    parts = [_RECORD]
    for name, fields in FIELDS.items():
        parts.append(f"\n## {name}\n{_HEAD}")
        parts += [
            f"| `{one.name}` | {'always' if one.needed else ''} | {_form(one.form)} | "
            f"{one.says} |\n"
            for one in fields
        ]
    return "".join(parts)


def _form(form: str) -> str:
    """Return what a field is: a word, or a link to the table of an object."""
    inner = form.strip("[]")
    said = f"[{inner}](#{inner.replace(' ', '-')})" if inner in FIELDS else inner
    return f"list of {said}" if form.startswith("[") else said


def run_record_schema() -> str:
    """Return the JSON Schema as a file has it."""
    return json.dumps(record_schema(), indent=2, ensure_ascii=False) + "\n"
