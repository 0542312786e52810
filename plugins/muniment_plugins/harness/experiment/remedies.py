"""What to do about a failed effect if its error does not say so itself.

    remedy_of("execution", "ValueRefused", "the data is made of numpy, which …")
        add numpy to Spec(allowed_imports=[…]), or give plain lists and dicts

Rules:

- The first row that fits counts; the last row of each effect kind fits everything, so
  that every failure has a remedy.
- It is derived from the recorded failure, and so works for existing records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["REMEDIES", "Remedy", "remedy_of"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """One row: which failures, in words and as patterns, and what to do."""

    kind: str
    """The effect kind; ``*`` for all."""
    failed: str
    """What failed, in plain words."""
    error_type: str
    message: str
    remedy: str


_RESUMES = 'strategy="resume" goes on from there'

REMEDIES = (
    Remedy(
        "execution",
        "the data is made of a package that the code may not import",
        "ValueRefused",
        r"the data is made of (?P<package>[\w, ]+), which",
        "add {package} to Spec(allowed_imports=[…]), or give plain lists and dicts",
    ),
    Remedy(
        "execution",
        "the code cannot be given the data",
        "ValueRefused|unrecordable",
        "",
        "give less data, of JSON values, NumPy arrays or Arrow tables",
    ),
    Remedy(
        "*",
        "what a function returned has no exact form",
        "ValueRefused|unrecordable",
        "",
        "return JSON values, NumPy arrays or Arrow tables",
    ),
    Remedy(
        "*",
        "a worker process ended",
        "WorkerLost",
        "",
        f"see what it wrote to standard error; {_RESUMES}",
    ),
    Remedy(
        "*",
        "a policy refused the effect",
        "refused",
        "",
        f"ask who set the policy; once it allows it, {_RESUMES}",
    ),
    Remedy(
        "data",
        "the datasource, or the function of a treatment, raised",
        "",
        "",
        f"correct the function, or what it reads; where it was away, {_RESUMES}",
    ),
    Remedy(
        "llm",
        "the model was not reached, or its callable raised",
        "",
        "",
        f"see that the model can be reached; then {_RESUMES}",
    ),
    Remedy(
        "execution",
        "the capsule did not run the code",
        "",
        "",
        f"`muniment doctor` says what the capsule lacks; then {_RESUMES}",
    ),
)
"""The rows, searched from the top."""


def remedy_of(kind: str, error_type: str, message: str) -> str | None:
    """Return what to do; None for an effect kind that no experiment performs."""
    for one in REMEDIES:
        if one.kind not in ("*", kind):
            continue
        found = re.match(one.message, message)
        typed = not one.error_type or re.fullmatch(one.error_type, error_type)
        if typed and found is not None:
            return one.remedy.format(**found.groupdict())
    return None
