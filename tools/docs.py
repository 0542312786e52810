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

from muniment import hookspecs
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
    for name, info in one.model.model_fields.items():
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
take fewer arguments than a hook offers, by name. `examples/third_party_plugin/` is a
whole one.

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

What an error is says its class: *refused* (exit 4), *wrong* (exit 1), *cannot tell*
(exit 3), *usage* (exit 2); see the top of `ledger/muniment/errors.py`. Plugins have
rules of their own, which begin with their name.

`effect/<kind>` is the rule of `EffectFailed`: the performer of an effect of that kind
raised, now or when it was recorded.
"""

_FAMILIES = {
    "anchor": "What somebody else keeps: files of checkpoint notes.",
    "append": "What may not be written.",
    "blob": "Contents outside the payload, their commitments and rows.",
    "canonical": "The one spelling of a JSON value.",
    "checkpoint": "Signed tree heads.",
    "dsse": "Signed envelopes.",
    "effect": "Effects: requests, answers, performers.",
    "erase": "Erasing contents.",
    "event": "The statement of an event, its row and its place in the log.",
    "file": "Ledger files that cannot be judged.",
    "head": "What the trust home remembers of the end of the log.",
    "key": "Keys, their files, roles and intervals.",
    "ledger": "Finding and making ledgers.",
    "merkle": "The tree.",
    "note": "Signed notes.",
    "plugin": "Finding and loading plugins.",
    "proof": "Proofs for an event.",
    "query": "Questions to the log.",
    "replay": "Replays: what differs, and what a replay may not do.",
    "run": "Runs: their owner, their end, their completeness.",
    "schema": "The objects of a ledger file.",
    "scope": "Names of scopes.",
    "signing": "Where signing keys come from.",
    "store": "The database file, as it is opened and written.",
    "subject": "The rows that make subjects searchable.",
    "tile": "Remembered nodes of the tree.",
    "tlog-proof": "Proof files.",
    "trust": "The trust home.",
    "value": "Python values as JSON.",
    "verify": "The verifier's own workings.",
    "vkey": "Verifier keys of checkpoints.",
}

_FROM_VARIABLES = {
    "dsse/payload-base64": "muniment.signing",
    "dsse/signature-base64": "muniment.signing",
    "replay/effect": "muniment.runs",
    "replay/fact": "muniment.runs",
} | {
    f"{what}/{fault}": "muniment.note"
    for what in ("checkpoint", "note", "tlog-proof")
    for fault in ("control", "encoding", "too-long")
}
"""Rules whose names the source does not spell whole in one place."""

_RULE = re.compile(rf"({'|'.join(_FAMILIES)})/[a-z][a-z0-9-]*")


def rules() -> str:
    """Return the page about rules."""
    found = {rule: {module} for rule, module in _FROM_VARIABLES.items()}
    trees = {
        f"{file.parent.name}.{file.stem}": ast.parse(file.read_text())
        for folder in SOURCES
        for file in folder.glob("*.py")
    }
    for module, tree in trees.items():
        for rule, where in _spelled(module, tree, trees):
            found.setdefault(rule, set()).add(where)
    parts = [_MADE, _RULES]
    for family, meaning in _FAMILIES.items():
        own = sorted(rule for rule in found if rule.startswith(f"{family}/"))
        if own:
            parts.append(f"\n## {family}\n\n{meaning}\n\n| rule | in |\n|---|---|\n")
        for rule in own:
            modules = ", ".join(f"`{one}`" for one in sorted(found[rule]))
            parts.append(f"| `{rule}` | {modules} |\n")
    return "".join(parts)


def _spelled(
    module: str, tree: ast.Module, trees: dict[str, ast.Module]
) -> Iterator[tuple[str, str]]:
    """Yield the rules that *module* spells whole, or by a helper with a prefix."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _as_rule("", node.value, module)
        elif isinstance(node, ast.FunctionDef):
            for prefix, argument in _prefixes(node):
                for where, value in _passed(node, argument, trees):
                    yield from _as_rule(prefix, value, where)
    if module == "muniment.database":
        for _, rule, _, _ in ast.literal_eval(_assigned(tree, "_FAULTS")):
            yield from _as_rule("store/", rule, module)
    if module == "muniment.divergence":
        for where, value in _passed_to("Divergence", 0, trees):
            yield from _as_rule("replay/", value, where)


def _as_rule(prefix: str, text: str, module: str) -> Iterator[tuple[str, str]]:
    if _RULE.fullmatch(prefix + text):
        yield prefix + text, module


def _prefixes(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield prefix and parameter of each ``f"prefix/{parameter}"`` in *function*."""
    names = {one.arg for one in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.JoinedStr) and len(node.values) == 2:  # noqa: PLR2004 - a text and a name
            text, value = node.values
            if (
                isinstance(text, ast.Constant)
                and isinstance(value, ast.FormattedValue)
                and isinstance(value.value, ast.Name)
                and value.value.id in names
            ):
                yield str(text.value), value.value.id


def _passed(
    function: ast.FunctionDef, argument: str, trees: dict[str, ast.Module]
) -> Iterator[tuple[str, str]]:
    names = [one.arg for one in function.args.args if one.arg != "self"]
    public = not function.name.startswith("_")
    own = {
        module: tree
        for module, tree in trees.items()
        if public or any(node is function for node in ast.walk(tree))
    }
    yield from _passed_to(function.name, names.index(argument), own)


def _passed_to(
    name: str, position: int, trees: dict[str, ast.Module]
) -> Iterator[tuple[str, str]]:
    """Yield module and text of what calls of *name* pass at *position*."""
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or len(node.args) <= position:
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called != name:
                continue
            for part in ast.walk(node.args[position]):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield module, part.value


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
        print(f"docs/reference/{name} is out of date: run python tools/docs.py")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
