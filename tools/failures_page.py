"""Writes docs/reference/failures.md: classes and reason codes of failures, and rules.

Rule: the tables come from the code that reads failures. The sentences stand here.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment_plugins.governance.failures.codes import (
    CODES,
    FAILURE_CLASSES,
    FailureClass,
    ReasonCode,
)
from muniment_plugins.governance.failures.rules import FAMILIES, RULES

__all__ = ["failures"]

_FAILURES = """# Failures

Every run that fails has a class and a reason code, whatever it ran and whether or not a
policy governed it. `muniment runs explain RUN` prints them, with the event that caused the
failure and what to do; with `--json` they are `class`, `reason_code`, `event` and `retry`.
The codes are stable: programs may depend on their names and classes.

| class | what failed |
|---|---|
"""
_CLASSES: dict[FailureClass, str] = {
    "structural": "a program, a flow, a document or a call is built wrongly: mend it",
    "semantic": "what was made, said or compared does not hold: look at what it says",
    "environmental": "what is around the program failed it: mend that, or try again",
    "authority": "a policy, a person or the ledger's rules did not allow it: ask them",
}
_AFTER_CLASSES = """
A failure is read from the events of the run, with nothing else to look at, in this order:

1. the effect that the end of the run names as its cause: the one that halts the run, else
   the innermost of those that performers asked. Of a run that it called, the failure there;
2. the rule in the message of an error of muniment, `… [rule/name]; …`, and the facts behind
   it: `budget.exhausted`, `verification.arbitrated`, `decision.reached`, `plugin.refused`,
   `replicate.failed`, `hypothesis.unjudged`;
3. the name of the error, as of a timeout, or the status `refused` or `diverged`;
4. a decision that people denied as the last thing before the end;
5. else the program raised it by itself: `program_raised`.

*Again* says whether trying again, with nothing changed, can help. A replay comes to the same
failure in any case: what it is told comes from the record.

A run that waits, or that somebody gave up, has a code as well. One that completed has none,
unless it is a replay that was judged *unacceptable* or *non-certifiable*. A run without an
end has one once its process is gone.
"""
_CODES = "\n| code | means | what to do | again |\n|---|---|---|---|\n"
_RULES = """
## Rules and codes

Each [rule](rules.md) has one code: its own, if it is listed here, else that of its family.
Rules of other people's plugins are not here: of those the class of the error decides.
`effect/<kind>` says only that an effect failed; its outcome says why.

| code | families | rules |
|---|---|---|
"""


def failures() -> str:
    """Return the page about failures."""
    parts = [_FAILURES]
    parts += [f"| `{one}` | {_CLASSES[one]} |\n" for one in FAILURE_CLASSES]
    parts.append(_AFTER_CLASSES)
    for one in FAILURE_CLASSES:
        parts += [f"\n## {one}\n", _CODES, *map(_row, _of(one))]
    parts.append(_RULES)
    parts += filter(None, map(_led_to, CODES.values()))
    return "".join(parts)


def _of(failure_class: FailureClass) -> Iterator[ReasonCode]:
    return (one for one in CODES.values() if one.failure_class == failure_class)


def _row(one: ReasonCode) -> str:
    again = "may help" if one.retry else "no"
    return f"| `{one.code}` | {one.means} | {one.remedy} | {again} |\n"


def _led_to(code: ReasonCode) -> str:
    """Return the row of the rules that lead to *code*; empty if none does."""
    families = sorted(name for name, one in FAMILIES.items() if one == code)
    rules = sorted(name for name, one in RULES.items() if one == code)
    if not families and not rules:
        return ""
    left = ", ".join(f"`{name}/*`" for name in families)
    return f"| `{code.code}` | {left} | {', '.join(f'`{one}`' for one in rules)} |\n"
