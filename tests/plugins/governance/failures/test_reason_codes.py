"""Reason codes: each rule of muniment has one, and each of its errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment_plugins.governance.failures.codes import CODES, FAILURE_CLASSES
from muniment_plugins.governance.failures.errors import ERRORS, code_of_error
from muniment_plugins.governance.failures.rules import (
    FAMILIES,
    RULES,
    code_of_rule,
    rule_in,
)

ROOT = Path(__file__).parents[4]
PAGES = ROOT / "docs" / "reference"
SOURCES = {
    file: file.read_text()
    for top in ("ledger", "plugins", "cli")
    for file in (ROOT / top).rglob("*.py")
    if "failures" not in file.parts
}
RULE = r"[a-z][a-z-]*/[a-z][a-z0-9-]*"


def documented() -> Iterator[str]:
    """Yield the rules that the reference lists: of kernel and shell, and of plugins."""
    for name in ("rules", "capsule", "harness"):
        for row in re.findall(
            rf"^\| ((?:`{RULE}`(?:, and |, | and )?)+)",
            (PAGES / f"{name}.md").read_text(),
            re.MULTILINE,
        ):
            yield from re.findall(RULE, row)


def raised() -> Iterator[str]:
    """Yield the rules that the source spells where an error is raised."""
    for text in SOURCES.values():
        yield from re.findall(rf'rule="({RULE})"', text)
    documents = ROOT / "plugins" / "muniment_plugins" / "governance"
    for file in documents.rglob("*.py"):
        for mistake in re.findall(
            r'\.wrong\((?:[^()]|\([^()]*\))*?,\s*"([a-z-]+)",', SOURCES.get(file, "")
        ):
            yield from (f"flow/{mistake}", f"policy/{mistake}")


def test_every_rule_has_a_code() -> None:
    """Each rule of the reference, and each that an error is raised with, leads to one."""
    rules = {*documented(), *raised()}
    assert len(rules) > 400
    assert {one for one in rules if code_of_rule(one) is None} == set()


def test_every_listed_rule_exists() -> None:
    """The table names no rule, and no family, that nothing has."""
    known = {*documented(), *raised()}
    known.update(
        one for text in SOURCES.values() for one in re.findall(f'"({RULE})"', text)
    )
    in_halves = {
        part for text in SOURCES.values() for part in re.findall(r'"([a-z-]+)"', text)
    }
    lacking = RULES.keys() - known
    assert {one for one in lacking if one.partition("/")[2] not in in_halves} == set()
    families = {one.partition("/")[0] for one in known}
    assert FAMILIES.keys() - families - {"verify", "report", "observation"} == set()


def test_a_rule_of_somebody_else_has_none() -> None:
    """Their plugins may have families of their own; the error's class says more."""
    assert code_of_rule("lab/closed") is None
    code, rule = code_of_error("RefusedError", "the lab is closed [lab/closed]")
    assert (code, rule) == (CODES["refused"], "lab/closed")


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("plugin p: no [append/plugin]; change it", "append/plugin"),
        ("no [append/plugin]", "append/plugin"),
        ("said [cli/usage]; and then no [store/full]; wait", "store/full"),
        ("x [harness/failed]; see below\n  y [capsule/import]", "harness/failed"),
        ("a list [1/2] of them", None),
        ("see [docs/page] for more", None),
        ("nothing", None),
    ],
)
def test_the_rule_is_at_the_end_of_a_line(message: str, rule: str | None) -> None:
    """It is in brackets, before the remedy; other brackets are text."""
    assert rule_in(message) == rule


def test_every_error_of_ours_has_a_code() -> None:
    """The classes that are raised with a rule are known by name, and no others."""
    bases: dict[str, set[str]] = {}
    for text in SOURCES.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                named = {ast.unparse(one).rpartition(".")[2] for one in node.bases}
                bases.setdefault(node.name, set()).update(named)
    ours = {"MunimentError"}
    while True:
        more = {name for name, above in bases.items() if above & ours} - ours
        if not more:
            break
        ours |= more
    assert ours == ERRORS.keys()


def test_an_error_of_somebody_else_says_nothing_by_its_text() -> None:
    """A rule in its message is text: the program may have written it."""
    assert code_of_error("ValueError", "odd [flow/budget]") == (None, None)
    assert (
        code_of_error("FlowFailed", "odd [flow/budget]")[0] == CODES["budget_exhausted"]
    )


def test_codes_are_told_apart() -> None:
    """Each has one class, a meaning and a remedy; all four classes have some."""
    assert {one.failure_class for one in CODES.values()} == set(FAILURE_CLASSES)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", one) for one in CODES)
    for told in ("means", "remedy"):
        words = [getattr(one, told) for one in CODES.values()]
        assert all(words)
        assert all(one[0].islower() or one[0] == "`" for one in words)
        assert not any(one.endswith(".") for one in words)
    assert len({one.means for one in CODES.values()}) == len(CODES)


def test_every_code_can_come_about() -> None:
    """Something leads to each: a rule, an error, or what is read of a run."""
    room = ROOT / "plugins" / "muniment_plugins" / "governance" / "failures"
    read = "".join(
        (room / f"{name}.py").read_text() for name in ("reading", "effects", "errors")
    )
    led_to = {one.code for one in (*RULES.values(), *FAMILIES.values())}
    assert {
        one for one in CODES if one not in led_to and f'"{one}"' not in read
    } == set()
