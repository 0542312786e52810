"""Writes the pages under docs/reference that the code itself knows best.

    python tools/docs.py            writes events.md, failures.md, hooks.md, rules.md,
                                    run-record.md and its schema, workflow.md,
                                    evals.md
    python tools/docs.py --check    says which of them is out of date, exit 1

Rules: what stands in a table comes from the registry, the hook specifications or the
source text; the sentences around it stand here. A test compares.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

from evals_page import evals
from failures_page import failures
from records_page import run_record, run_record_schema
from rules_page import rules
from workflow_page import workflow

from muniment import hookspecs
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.events.effect_types import effect_types
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventType

__all__ = ["FILES", "PAGES", "events", "hooks", "main", "page", "workflows"]

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "reference"

_MADE = "<!-- written by tools/docs.py; change the source, then run it again -->\n"

# -- events ------------------------------------------------------------------------

_EVENTS = """# Event types

Every event has a type, a version and `data` with exactly the fields below.
[spec/event.md](../spec/event.md) specifies how an event is written and signed. Plugins
add their own types through the `event_types` hook.

Where a field is kept:

- **inline**: in the signed payload itself. It can never be erased.
- **blob**: outside, behind a salted commitment. It can be erased.
- **inline, blob above 4 KiB**: inline if it is small, otherwise a blob.

*volatile* fields are recorded and never compared in a replay. *public* fields add their
plain SHA-256 to the event's subjects, so that they can be searched for. A field with a
default may be left out; `None` is not written.
"""

_EFFECTS = """## Effects

An effect of kind `k` writes `k.requested` before it is performed, and `k.completed` or
`k.failed` afterwards. The kernel's kinds:

| kind | entropy | magnitude | reproducible | in doubt |
|---|---|---|---|---|
"""

_AFTER_KINDS = """
*Entropy* says where the uncertainty of an answer comes from. A *reproducible* effect is
performed again in a replay and compared; every other one is answered from the record.
*In doubt* says what a resume does with a request that has no outcome. The fields:
"""


def events() -> str:
    """Return the page about event types."""
    parts = [_EVENTS]
    parts += [_event("##", one) for one in KERNEL_TYPES]
    parts.append("\n" + _EFFECTS)
    for kind in KERNEL_KINDS:
        again = "yes" if kind.reproducible else "no"
        facts = (f"`{kind.name}`", kind.source, kind.magnitude, again, kind.on_doubt)
        parts.append("| " + " | ".join(facts) + " |\n")
    parts.append(_AFTER_KINDS)
    parts += [_event("###", one) for one in effect_types("kind")]
    return "".join(parts)


def _event(level: str, one: EventType) -> str:
    says = (inspect.getdoc(one.model) or "").replace("\n", " ").replace("``", "`")
    return f"\n{level} {one.name}\n\n{says}\n\n{_fields(one)}"


def _fields(one: EventType) -> str:
    rows = ["| field | type | where | |\n|---|---|---|---|\n"]
    for name, info in one.full_model.model_fields.items():
        marks = {mark.value for mark in one.marks[name]}
        where = "blob" if "blob" in marks else "inline"
        if "large" in marks and "blob" not in marks:
            where = "inline, blob above 4 KiB"
        more = sorted(marks & {"public", "veiled", "volatile"})
        default = [] if info.is_required() else [f"default `{info.get_default()!r}`"]
        kind = _type(info.annotation)
        rows.append(
            f"| `{name}` | `{kind}` | {where} | {', '.join(more + default)} |\n"
        )
    return "".join(rows)


def _type(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    if "[" in str(annotation):
        text = str(annotation)
    return re.sub(r"\b(typing|builtins)\.", "", text).replace("|", r"\|")


# -- hooks -------------------------------------------------------------------------

_HOOKS = """# Hooks

A plugin is a module or an object behind an entry point of the group `muniment`. It
implements any of these functions, marked with `muniment.hookimpl`. A function may take
fewer arguments than the hook offers; they are passed by name.

```python
import muniment
from muniment import hookimpl
from muniment.plugins import Plugins


class NoSecrets:
    @hookimpl
    def before_append(self, event_type, data):
        if event_type == "note.added" and "password" in data["text"]:
            return "a note may not hold a password"


plugins = Plugins(extra={"no-secrets": NoSecrets()})
with muniment.open(create=True, plugins=plugins) as ledger:
    try:
        ledger.append("note.added", {"text": "the password is …"})
    except muniment.MunimentError as error:
        print(error)
```

```output
plugin no-secrets: a note may not hold a password [append/plugin]; …
```

An installed plugin declares itself in its `pyproject.toml`:

```toml
[project.entry-points.muniment]
no-secrets = "my_package.no_secrets"
```

`MUNIMENT_PLUGINS` names the plugins that may load, separated by commas; `none`, or
nothing, means none. `verify` loads none.

## A plugin with its own words

This one declares an event type, an effect kind, and a format that runs are written in:

```python
from typing import Annotated

import muniment
from muniment import BLOB, PUBLIC, TEXT, EffectKind, EventData, EventType, hookimpl
from muniment.plugins import Plugins


class Calibrated(EventData):
    sensor: Annotated[str, TEXT, PUBLIC]
    offset: float
    notes: Annotated[str, BLOB, TEXT]  # kept beside the event; it can be erased


def as_types(ledger, run):
    events = ledger.events(run=run)
    return "\\n".join(["type", *(event.type for event in events)]).encode()


class Lab:
    @hookimpl
    def event_types(self):
        return [EventType("lab.calibrated", Calibrated)]

    @hookimpl
    def effect_kinds(self):
        return [EffectKind("lab.reading", source="data", on_doubt="repeat")]

    @hookimpl
    def exporters(self):
        return {"types": as_types}


def measure(run):
    data = {"sensor": "north", "offset": 0.25, "notes": "after the storm …"}
    run.record("lab.calibrated", data)
    return run.effect("lab.reading", {"sensor": "north"}, lambda request: 21.5)


with muniment.open(create=True, plugins=Plugins(extra={"lab": Lab()})) as ledger:
    done = ledger.execute(measure)
    print(ledger.export(done.run_id, "types").decode())
```

```output
type
run.started
lab.calibrated
lab.reading.requested
lab.reading.completed
run.completed
```

A text without `BLOB` is in the event itself, for as long as the ledger is. `ledger.resolve(event)`
returns the data of an event with its blobs; it raises `ErasedError` if one was erased.

Types and kinds begin with a name of the plugin's own: two plugins that declare the same
one are refused. A run that has such events needs the plugin to be resumed or replayed.

A plugin whose readers rely on its facts declares their type as its own, by
`EventType(…, own="acme.engine:EngineFact")`: then `run.record` and `ledger.append` take data of
exactly that class, and refuse everybody else (`event/own`). It is no lock: code of the same process
can import the class.

What a kind says [in doubt](../how-to/resume.md#an-effect-in-doubt) shows after a crash only.
To test it, end the process inside `perform` with `os._exit(1)`, and resume the run.

`muniment export RUN --format types` writes it on the command line: see [Export a
run](../how-to/export.md). Choose a name that no other plugin has.

Commands for the shell are entry points of the group `muniment.commands`, each a click
command. In one, `muniment.open()` opens the ledger that `--ledger` names, too:

```toml
[project.entry-points."muniment.commands"]
types = "my_package.commands:types"
```

```python
import click
import muniment


@click.command()
@click.argument("run")
def types(run):
    with muniment.open(readonly=True) as ledger:
        click.echo(ledger.export(run, "types"))
```

## The hooks

| hook | arguments | returns |
|---|---|---|
"""


def hooks() -> str:
    """Return the page about hooks."""
    rows: list[str] = []
    details: list[str] = []
    for name, function in _hookspecs():
        signature = inspect.signature(function)
        arguments = ", ".join(f"`{one}`" for one in signature.parameters) or "none"
        gives = str(signature.return_annotation).replace("|", r"\|")
        rows.append(f"| [`{name}`](#{name}) | {arguments} | `{gives}` |\n")
        says = (inspect.getdoc(function) or "").replace("``", "`")
        first = bool(getattr(function, "muniment_spec", {}).get("firstresult"))
        more = " The first answer that is not `None` counts." if first else ""
        takes = ", ".join(str(one) for one in signature.parameters.values())
        details.append(f"\n## {name}\n\n`{name}({takes})`\n\n{says}{more}\n")
    return "".join([_HOOKS, *rows, *details])


def _hookspecs() -> list[tuple[str, Callable[..., object]]]:
    return [
        (name, function)
        for name, function in vars(hookspecs).items()
        if hasattr(function, f"{hookspecs.GROUP}_spec")
    ]


# -- workflows ---------------------------------------------------------------------


def workflows() -> str:
    """Return the page about workflows."""
    return workflow(_event)


def held_runs() -> str:
    """Return the page about evals."""
    return evals(_event)


# -- the command -------------------------------------------------------------------

PAGES = {
    "evals.md": held_runs,
    "events.md": events,
    "failures.md": failures,
    "hooks.md": hooks,
    "rules.md": rules,
    "run-record.md": run_record,
    "workflow.md": workflows,
}
FILES = {"run-record.schema.json": run_record_schema}
"""What is written without a remark on top, which its format does not allow."""


def page(name: str) -> str:
    """Return the text of the page *name*."""
    return FILES[name]() if name in FILES else _MADE + PAGES[name]()


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; return the exit code."""
    old: list[str] = []
    for name in (*PAGES, *FILES):
        file = TARGET / name
        if "--check" not in arguments:
            file.write_text(page(name))
        elif not file.exists() or file.read_text() != page(name):
            old.append(name)
    for name in old:
        print(f"docs/reference/{name} is out of date: run `make docs`")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
