"""Writes the pages under docs/reference that the code itself knows best.

    python tools/docs.py            writes events.md, hooks.md and rules.md
    python tools/docs.py --check    says which of them is out of date, exit 1

Rules: what stands in a table comes from the registry, the hook specifications or the
source text; the sentences around it stand here. A test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from muniment import errors, hookspecs
from muniment.event_types import EventType
from muniment.kinds import KERNEL_KINDS
from muniment.vocabulary import KERNEL_TYPES, effect_types

__all__ = ["PAGES", "events", "hooks", "main", "rules"]

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "ledger" / "muniment", ROOT / "cli" / "muniment_cli")
TARGET = ROOT / "docs" / "reference"

_MADE = "<!-- written by tools/docs.py; change the source, then run it again -->\n"

# -- events ------------------------------------------------------------------------

_EVENTS = """# Event types

Every event has a type, a version and `data` of exactly the fields below. How an event
is written and signed is said in [spec/event.md](../spec/event.md). Plugins add types of
their own through the `event_types` hook.

Where a field is kept:

- **inline**: in the signed payload itself. It can never be erased.
- **blob**: outside, behind a salted commitment. It can be erased.
- **inline, blob above 4 KiB**: as it says.

*volatile* fields are recorded and never compared in a replay. *public* fields add their
plain SHA-256 to the subjects of the event, so that they can be searched for. A field
with a default may be left out; `None` is not written.
"""

_EFFECTS = """## Effects

An effect of the kind `k` writes `k.requested` before it is performed, and `k.completed`
or `k.failed` after. The kinds of the kernel:

| kind | entropy | magnitude | reproducible | in doubt |
|---|---|---|---|---|
"""

_AFTER_KINDS = """
*Entropy* says where the uncertainty of an answer comes from. A *reproducible* effect is
performed again in a replay and compared; every other one is answered from the record.
*In doubt* says what a resume does about a request without an outcome. The fields:
"""


def events() -> str:
    """Return the page about event types."""
    parts = [_MADE, _EVENTS]
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
        more = sorted(marks & {"public", "volatile"})
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
implements any of these functions, marked with `muniment.hookspecs.hookimpl`. It may
take fewer arguments than a hook offers, by name.

```python
import muniment
from muniment.hookspecs import hookimpl
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

`MUNIMENT_PLUGINS` names the plugins that may load, separated by commas; `none` is
nobody. `verify` loads none. Commands for the shell are entry points of the group
`muniment.commands`, each a click command.

| hook | arguments | gives |
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
    return "".join([_MADE, _HOOKS, *rows, *details])


def _hookspecs() -> list[tuple[str, Callable[..., object]]]:
    return [
        (name, function)
        for name, function in vars(hookspecs).items()
        if hasattr(function, f"{hookspecs.GROUP}_spec")
    ]


# -- rules -------------------------------------------------------------------------

_RULES = """# Rules

Every error of muniment, and every finding of `verify`, names the rule that broke. The
names are stable: programs may depend on them. An error is one line,
`place: message [rule]; remedy`.

| is | class | exit code |
|---|---|---|
| usage | `UsageError` | 2 |
| refused | `RefusedError` and its children: a rule said no, nothing was written | 4 |
| wrong | `WrongError` and its children: evidence contradicts itself | 1 |
| cannot tell | `CannotTellError` and its children: something is missing | 3 |
| finding | what `verify` reports; of the kind `unreadable` it means *cannot tell*, else *wrong* | 3, 1 |

`effect/<kind>` is the rule of `EffectFailed`: the performer of an effect of that kind
raised, now or when it was recorded. Plugins have rules of their own: those of the
[capsule](capsule.md#rules) and of the [harness](harness.md) stand on their pages.
"""

_VERDICTS = {1: "wrong", 2: "usage", 3: "cannot tell", 4: "refused"}
_CLASSES = {
    name: _VERDICTS[value.exit_code]
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.MunimentError)
}

_FROM_VARIABLES = {
    "dsse/payload-base64": "wrong",
    "dsse/signature-base64": "wrong",
    "replay/effect": "wrong",
    "replay/fact": "wrong",
    "run/order": "finding",
    "run/ordinal": "finding",
} | {
    f"{what}/{fault}": "wrong"
    for what in ("checkpoint", "note", "tlog-proof")
    for fault in ("control", "encoding", "too-long")
}
"""Rules whose names the source does not spell whole in one place."""

_RULE = re.compile(r"[a-z][a-z-]*/[a-z][a-z0-9-]*")
_PART = re.compile(r"[a-z][a-z0-9-]*")


def rules() -> str:
    """Return the page about rules."""
    trees = {
        str(file.relative_to(ROOT)): ast.parse(file.read_text())
        for folder in SOURCES
        for file in folder.rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for rule, verdict in [*_FROM_VARIABLES.items(), *_all_rules(trees)]:
        found.setdefault(rule, set()).add(verdict)
    parts = [_MADE, _RULES]
    for family in sorted({rule.partition("/")[0] for rule in found}):
        parts.append(f"\n## {family}\n\n| rule | is |\n|---|---|\n")
        own = sorted(rule for rule in found if rule.partition("/")[0] == family)
        parts += [f"| `{rule}` | {', '.join(sorted(found[rule]))} |\n" for rule in own]
    return "".join(parts)


def _all_rules(trees: dict[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """Yield each rule that a call names, with what it is."""
    helpers = dict(_helpers(trees))
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            helper = helpers.get((module, name)) or helpers.get(("", name))
            if name in _CLASSES:
                for keyword in node.keywords:
                    if keyword.arg == "rule":
                        yield from _texts(keyword.value, "", _CLASSES[name])
            elif helper is not None:
                prefix, position, verdict = helper
                if len(node.args) > position:
                    yield from _texts(node.args[position], prefix, verdict)
            elif (
                name == "say" and "verifying" in module
            ):  # what the verifier calls its reporting object
                yield from _texts(node.args[0], "", "finding")
    database = trees["ledger/muniment/database.py"]
    faults = ast.literal_eval(_assigned(database, "_FAULTS"))
    yield from ((f"store/{rule}", "cannot tell") for _, rule, *_ in faults)


def _texts(node: ast.expr, prefix: str, verdict: str) -> Iterator[tuple[str, str]]:
    form = _PART if prefix else _RULE
    for part in ast.walk(node):
        text = part.value if isinstance(part, ast.Constant) else None
        if isinstance(text, str) and form.fullmatch(text):
            yield prefix + text, verdict


def _helpers(
    trees: dict[str, ast.Module],
) -> Iterator[tuple[tuple[str, str], tuple[str, int, str]]]:
    """Yield the functions that take a rule, or its second part, and raise or report.

    The key is module and name; the module is empty for those that others import. The
    value is what stands before the argument, its position, and what the rule is.
    """
    yield ("", "Divergence"), ("replay/", 0, "wrong")
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            names = [one.arg for one in node.args.args if one.arg != "self"]
            prefix, argument = next(_prefixes(node, names), ("", "rule"))
            if argument in names:
                scope = module if node.name.startswith("_") else ""
                verdict = _raised(node, "finding" if "verif" in module else "wrong")
                yield (scope, node.name), (prefix, names.index(argument), verdict)


def _raised(function: ast.FunctionDef, otherwise: str) -> str:
    """Return what a helper's rule is, by the class that the helper raises."""
    named = (node.id for node in ast.walk(function) if isinstance(node, ast.Name))
    return next((_CLASSES[name] for name in named if name in _CLASSES), otherwise)


def _prefixes(function: ast.FunctionDef, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield prefix and parameter of each ``f"prefix/{parameter}"`` in *function*."""
    for node in ast.walk(function):
        if isinstance(node, ast.JoinedStr) and len(node.values) == 2:  # noqa: PLR2004 - a text and a name
            text, value = node.values
            if (
                isinstance(text, ast.Constant)
                and str(text.value).endswith("/")
                and isinstance(value, ast.FormattedValue)
                and isinstance(value.value, ast.Name)
                and value.value.id in names
            ):
                yield str(text.value), value.value.id


def _assigned(tree: ast.Module, name: str) -> ast.expr:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            target = node.target
            if isinstance(target, ast.Name) and target.id == name:
                return node.value
    raise LookupError(name)


# -- the command -------------------------------------------------------------------

PAGES = {"events.md": events, "hooks.md": hooks, "rules.md": rules}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; return the exit code."""
    old: list[str] = []
    for name, page in PAGES.items():
        file = TARGET / name
        if "--check" not in arguments:
            file.write_text(page())
        elif not file.exists() or file.read_text() != page():
            old.append(name)
    for name in old:
        print(f"docs/reference/{name} is out of date: run `make docs`")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
