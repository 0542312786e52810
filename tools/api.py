"""Writes docs/reference/api.md: what `import muniment` offers, from its docstrings.

    python tools/api.py            writes the page
    python tools/api.py --check    says whether it is out of date, exit 1

Rules: every public name of the package has its entry, with its signature and its
docstring; classes list their public members. What is not in the docstring is not here.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import is_typeddict

import muniment
from muniment.formats.series import SeriesLink
from muniment.verification.report import Finding, Report

__all__ = ["TARGET", "api", "main"]

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "api.md"

_HEAD = """<!-- written by tools/api.py; change the source, then run it again -->
# The Python API

What `import muniment` offers. A name is loaded when it is first used. Errors are
refusals with a rule, a place and a remedy: [rules.md](rules.md) lists the rules, and
`MunimentError` is the base of all. Events and their fields: [events.md](events.md).
Hooks of plugins: [hooks.md](hooks.md).
"""
_MARKS = """
## Marks

`@hookimpl` marks what a plugin answers to a hook: see [hooks.md](hooks.md).
`@hookspec` marks a hook that it declares for other plugins.
In `Annotated[…]` a mark, which `muniment` exports, says what a field of an event's data is:

| mark | the field |
|---|---|
| `BLOB` | is always kept outside the signed bytes, behind a salted commitment |
| `LARGE` | is kept so above 4 KiB |
| `TEXT` | is plain UTF-8 in its blob |
| `PUBLIC` | adds the plain SHA-256 of its bytes to the subjects of the event: of the text itself with `TEXT`, else of the value's JSON |
| `VOLATILE` | is recorded, and never compared |
| `VEILED` | is kept outside, however short, if the event is [private](../how-to/sessions.md#what-is-private) |
"""
_MODULES = """
## Modules

What else plugins and the command line may import: these modules, and of each the names
that are listed. A test holds their imports against this table. All other modules are the
kernel's own, and may change from one version to the next.

| module | | names |
|---|---|---|
"""

MODULES = [
    "copies.backup",
    "copies.histories",
    "copies.successor",
    "documents.nesting",
    "documents.places",
    "documents.reading",
    "documents.shapes",
    "encoding.arrays",
    "encoding.canonical",
    "encoding.codec",
    "encoding.copies",
    "encoding.native",
    "encoding.registry",
    "encoding.scalars",
    "encoding.visible",
    "errors",
    "events.effect_kinds",
    "events.findings",
    "events.readable",
    "events.token_counts",
    "events.types",
    "events.visibility",
    "events.vocabulary",
    "files.folder",
    "formats.checkpoint",
    "formats.decisions",
    "formats.dsse",
    "formats.evidence",
    "formats.lifecycle",
    "formats.series",
    "formats.sigstore",
    "formats.statement",
    "formats.stored_zip",
    "formats.tables",
    "formats.tlog_proof",
    "hookspecs",
    "key_management",
    "keys.ed25519",
    "keys.enrolment",
    "keys.keyring",
    "lazy",
    "ledger",
    "places",
    "plugins",
    "programs.awaiting",
    "programs.files",
    "programs.finder",
    "programs.functions",
    "programs.import_guard",
    "programs.parsing",
    "programs.references",
    "programs.stable_names",
    "queries.effect_stats",
    "queries.names",
    "queries.projections",
    "queries.run_summary",
    "queries.sql",
    "recorded.compare",
    "recorded.divergence",
    "recorded.match_keys",
    "recorded.run_check",
    "replays.account",
    "replays.certainty",
    "replays.diff",
    "replays.excerpt",
    "replays.guards",
    "replays.judge",
    "replays.machine_reads",
    "replays.replay",
    "replays.report",
    "runs.execution",
    "runs.executors",
    "runs.halts.raised",
    "runs.lanes.elsewhere",
    "runs.lanes.listening",
    "runs.lanes.of_plugins",
    "runs.modes.doubt",
    "runs.owner",
    "runs.privacy.private_errors",
    "runs.resume",
    "runs.run",
    "runs.streams",
    "runs.waits.own",
    "runs.waits.stand_ins",
    "trust.home",
    "trust.home_location",
    "trust.ledger_location",
    "trust.signing_key",
    "verification.bundle.members",
    "verification.bundle.verify",
    "verification.given",
    "verification.memory",
    "verification.page.comparison",
    "verification.page.computed",
    "verification.page.frame",
    "verification.page.marks",
    "verification.page.nesting",
    "verification.page.quotes",
    "verification.page.run_marks",
    "verification.page.run_view",
    "verification.page.wording",
    "verification.report",
    "verification.verify",
]
"""The public modules, below ``muniment``."""

_SECTIONS = re.compile(r"^(Args|Raises|Returns|Yields):$", re.MULTILINE)
_WIDTH = 79


def api() -> str:
    """Return the page."""
    named = [(name, getattr(muniment, name)) for name in muniment.__all__]
    functions = [pair for pair in named if inspect.isfunction(pair[1])]
    classes = [pair for pair in named if inspect.isclass(pair[1])]
    classes += [(one.__name__, one) for one in (Finding, Report, SeriesLink)]
    parts = [_HEAD, "\n## Functions\n"]
    parts += [_function("###", f"muniment.{name}", one) for name, one in functions]
    parts.append(_MARKS)
    parts += [_class(name, one) for name, one in sorted(classes)]
    return "".join([*parts, _MODULES, *map(_module, MODULES)])


def _module(name: str) -> str:
    """Return a table's row for the module *name* of ``muniment``."""
    module = importlib.import_module(f"muniment.{name}")
    said = (module.__doc__ or "").partition("\n")[0].replace("|", "\\|")
    names = ", ".join(f"`{one}`" for one in module.__all__)
    return f"| `muniment.{name}` | {said} | {names} |\n"


def _class(name: str, one: type) -> str:
    text = f"\n## {name}\n\n{_text(one)}"
    fields = list(_fields(one))
    if fields:
        text += "\n| member | |\n|---|---|\n" + "".join(fields)
    for member, value in _members(one):
        text += _function("###", f"{name}.{member}", value)
    return text


def _members(one: type) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public methods of a class, its parents' of muniment included."""
    seen: set[str] = set()
    for base in one.__mro__:
        if not base.__module__.startswith("muniment"):
            continue
        for name, value in list(vars(base).items()):
            function = getattr(value, "__func__", value)
            if name not in seen and _is_public(name) and inspect.isfunction(function):
                seen.add(name)
                yield name, function


def _fields(one: type) -> Iterator[str]:
    """Yield a table's row for each data field and property."""
    told = dict(_told(one))
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if _is_public(field.name):
                kind = _type(field.type).replace("|", "\\|")
                yield f"| `{field.name}: {kind}` | {told[field.name]} |\n"
    for name, said in told.items() if _is_declared(one) else ():
        written = one.__annotations__[name]
        kind = getattr(written, "__forward_arg__", str(written)).replace("|", "\\|")
        yield f"| `{name}: {kind}` | {said} |\n"
    for base in one.__mro__:
        if base.__module__.startswith("muniment"):
            for name, value in vars(base).items():
                if isinstance(value, property) and _is_public(name):
                    said = " ".join((value.__doc__ or "").split())
                    yield f"| `{name}` | {said} |\n"


def _told(one: type) -> Iterator[tuple[str, str]]:
    """Yield each field with the docstring that follows it in the source."""
    source = inspect.getsource(one)
    fields = dataclasses.fields(one) if dataclasses.is_dataclass(one) else ()
    names = [field.name for field in fields]
    if _is_declared(one):
        names = re.findall(r"^    (\w+): ", source, re.MULTILINE)
    for name in names:
        found = re.search(
            rf'^    {name}: [^\n]*\n    """(.*?)"""',
            source,
            re.MULTILINE | re.DOTALL,
        )
        yield name, " ".join(found[1].split()) if found else ""


def _is_declared(one: type) -> bool:
    """Tell whether the class declares filters, or the columns of a table."""
    return is_typeddict(one) or hasattr(one, "__table__")


def _type(annotation: object) -> str:
    """Return an annotation as the public names say it."""
    return re.sub(r"\bLane\b", "Run", str(annotation))


def _function(level: str, name: str, one: Callable[..., object]) -> str:
    signature = inspect.signature(one)
    shown = list(_parameters(signature))
    back = _type(signature.return_annotation)
    line = f"{name}({', '.join(shown)}) -> {back}"
    if len(line) > _WIDTH:
        inside = "".join(f"    {one},\n" for one in shown)
        line = f"{name}(\n{inside}) -> {back}"
    return f"\n{level} {name}\n\n```text\n{line}\n```\n\n{_text(one)}"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    starred = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        if one.annotation is one.empty:
            yield one.name  # self, which nobody gives
            continue
        if one.kind is one.VAR_KEYWORD:
            yield f"**{one.name}: {_type(one.annotation)}"
            continue
        default = "" if one.default is one.empty else f" = {one.default!r}"
        if len(default) > _WIDTH // 2:  # an object whose repr nobody reads
            default = " = …"
        yield f"{one.name}: {_type(one.annotation)}{default}"


def _text(one: object) -> str:
    """Return a docstring, its lists of arguments and errors as lists."""
    lines: list[str] = []
    listing = False
    for line in (inspect.getdoc(one) or "").splitlines():
        if _SECTIONS.match(line):
            listing = True
            lines.append(f"*{line[:-1]}*\n")
        elif not listing:
            lines.append(line)
        elif line.startswith("        "):
            lines.append(f"  {line.strip()}")
        elif line.startswith("    "):
            name, _, said = line.strip().partition(": ")
            lines.append(f"- `{name}`: {said}")
        else:
            listing = bool(line) and listing
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; return the exit code."""
    if "--check" not in arguments:
        TARGET.write_text(api())
        return 0
    if TARGET.exists() and TARGET.read_text() == api():
        return 0
    print("docs/reference/api.md is out of date: run `make docs`")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
