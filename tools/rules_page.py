"""Writes docs/reference/rules.md: every rule that the kernel and the shell spell.

Rule: a rule is found where an error is raised with it, in the source text, and belongs
under the verdict of the error's class. The sentences around the table stand here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from muniment import errors

__all__ = ["rules"]

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "ledger" / "muniment", ROOT / "cli" / "muniment_cli")

_RULES = """# Rules

Every error of muniment, and every finding of `verify`, names the rule that broke. The
names are stable: programs may depend on them. An error is one line,
`place: message [rule]; remedy`.

| what | class | exit code |
|---|---|---|
| usage | `UsageError` | 2 |
| refused | `RefusedError` and its subclasses: a rule said no, before it was done | 4 |
| wrong | `WrongError` and its subclasses: evidence contradicts itself | 1 |
| cannot tell | `CannotTellError` and its subclasses: something is missing | 3 |
| finding | reported by `verify`; its category is `unreadable` for *cannot tell*, anything else means *wrong* | 3, 1 |

What `ledger.answer`, `muniment approve`, `deny` and `inbox add` do not take is *refused*,
exit code 4, by the rules below that are *wrong* where `verify` finds the same in a ledger.

`effect/<kind>` is the rule of `EffectFailed`: the performer of an effect of that kind
raised, now or when it was recorded. Plugins have their own rules: those of the
[capsule](capsule.md#rules) and of the [harness](harness.md) are on their pages. To which
failure of a run a rule leads, [failures.md](failures.md) says.
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
    "run/canceled": "refused",
    "run/complete": "refused",
    "replay/fact": "wrong",
    "replay/missing": "wrong",
    "run/order": "finding",
    "run/ordinal": "finding",
    "run/scope": "finding",
    "run/start": "finding",
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
        if verdict == "wrong" and _of_answers(rule):
            found[rule].add("refused")
    parts = [_RULES]
    for family in sorted({rule.partition("/")[0] for rule in found}):
        parts.append(f"\n## {family}\n\n| rule | is |\n|---|---|\n")
        own = sorted(rule for rule in found if rule.partition("/")[0] == family)
        parts += [f"| `{rule}` | {', '.join(sorted(found[rule]))} |\n" for rule in own]
    return "".join(parts)


def _of_answers(rule: str) -> bool:
    """Tell whether a signed answer can be refused by *rule*, of what is wrong."""
    family, _, fault = rule.partition("/")
    in_runs = {"place", "open", "reached", "quorum"}
    own = family == "decision" and fault not in in_runs
    return own or family in ("canonical", "dsse")


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
                name == "say" and "verification" in module
            ):  # what the verifier calls its reporting object
                yield from _texts(node.args[0], "", "finding")
    database = trees["ledger/muniment/storage/connections.py"]
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
