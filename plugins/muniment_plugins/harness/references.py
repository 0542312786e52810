"""How a plan names a function: by import path and source digest, never by pickle.

    {"file": "triage.py", "import": "triage:shuffle_columns", "source": "sha256:…"}

Rules:

- A function that a replay only has to *answer* for (a datasource, a model) may be a
  lambda; one that a replay has to *call* (a verifier, a transform) must be importable.
- `Remembered` stands for a recorded function and looks it up when it is called;
  ``__main__`` is never imported, since that would run the experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.canonical import JsonValue
from muniment.programs import describe, find, source_digest

__all__ = ["Function", "Remembered", "digest_of", "refer"]

Function = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A function that a run recorded, found again when it is needed."""

    described: Mapping[str, object]

    @property
    def function(self) -> Function:
        """The function itself.

        Raises:
            CannotTellError: it cannot be imported.

        """
        recorded = cast("dict[str, JsonValue]", dict(self.described))
        return find(recorded, f"of {self.described.get('import')}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function."""
        return self.function(*args, **kwargs)


def refer(function: Function) -> dict[str, object]:
    """Return how a plan names *function*."""
    if isinstance(function, Remembered):
        return dict(function.described)
    return describe(function)


def digest_of(function: Function) -> str | None:
    """Return the digest of the source that is there now, or None without source."""
    found = function.function if isinstance(function, Remembered) else function
    return source_digest(found)
