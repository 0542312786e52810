"""Prompts: the claim, the bounds, and what was wrong before.

    system     Write one Python program. …
    user       Claim: Sum ignores the order. Allowed imports: math. …
    assistant  def fit_and_eval(data): …
    user       It was refused in line 1: Import not allowed: os. …

Rule: the text depends on the case alone, so that a replay asks the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from muniment_plugins.harness.case import Case
from muniment_plugins.harness.claim import Claim

__all__ = [
    "Message",
    "about_code",
    "about_spec",
    "json_of",
    "program_of",
]

Message = dict[str, str]

_FENCED = re.compile(r"^```[\w+-]*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

_CODE = """\
Write one Python program, and answer with it alone, in one fenced block.
It defines `def {entrypoint}(data)`, which returns a dict of metrics: names to numbers.
It imports nothing but: {imports}.
It uses {syntax}.
No metric's name ends in _pass."""

_SYNTAX = {
    "narrow": "no eval, exec, open or __import__, no names with leading underscores, no "
    "global, nonlocal, with, try, class or async",
    "wide": "no eval, exec, open or __import__, no attribute with leading underscores that "
    "is not its own, no async, except* or metaclass; try, with, global, nonlocal and class "
    "are allowed",
}
"""A narrow spec keeps the words of earlier versions: a replay asks the same."""

_SPEC = """\
Answer with one JSON object, in a fenced block: the bounds for a program that is to show \
a claim. Its members: allowed_imports (list of module names), properties (list of \
objects with name, transform, metric, tolerance; transforms: permute_rows, \
permute_rows_aligned, identity), resources (object with time_s and mem_mb)."""


def about_code(case: Case, entrypoint: str) -> list[Message]:
    """Return the messages that ask for a program."""
    spec = case.the_spec()
    system = _CODE.format(
        entrypoint=entrypoint,
        imports=", ".join(spec.allowed_imports) or "no module",
        syntax=_SYNTAX[spec.syntax],
    )
    properties = "".join(
        f"\nIt has to hold: {json.dumps(one, sort_keys=True)}."
        for one in spec.to_json()["properties"]  # type: ignore[attr-defined] # a list
    )
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": _claimed(case.the_claim()) + properties},
    ]
    if case.feedback is not None:
        messages += _corrected(case.feedback)
    return messages


def about_spec(case: Case) -> list[Message]:
    """Return the messages that ask for bounds."""
    return [
        {"role": "system", "content": _SPEC},
        {"role": "user", "content": _claimed(case.the_claim())},
    ]


def _claimed(claim: Claim) -> str:
    accepted = claim.to_json()["acceptance"]
    words = f"Claim: {claim.text}"
    return (
        f"{words}\nAccepted if: {json.dumps(accepted, sort_keys=True)}"
        if accepted
        else words
    )


def _corrected(feedback: Mapping[str, object]) -> list[Message]:
    line = feedback.get("line")
    where = f" in line {line}" if line else ""
    remedy = feedback.get("remedy")
    instead = f" Remedy: {remedy}." if remedy else ""
    wrong = f"That does not do{where}: {feedback['message']}.{instead} Correct it."
    return [
        {"role": "assistant", "content": f"```python\n{feedback['code']}\n```"},
        {"role": "user", "content": wrong},
    ]


def program_of(answer: str) -> str:
    """Return the program in a model's *answer*: the longest fenced block, if any."""
    blocks: list[str] = _FENCED.findall(answer)
    return max(blocks, key=len) if blocks else answer


def json_of(answer: str) -> object:
    """Return the JSON value in a model's *answer*.

    Raises:
        ValueError: there is none.

    """
    return json.loads(program_of(answer))
