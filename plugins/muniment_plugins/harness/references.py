"""How a plan names a function: by import path and source digest, never by pickle.

    {"import": "triage:shuffle_columns", "source": "sha256:…"}

Rules:

- A function that a replay only has to *answer* for (a datasource, a model) may be a
  lambda: `Remembered` stands for it, and looks it up only if it is called after all.
- One that a replay has to *call* (a verifier, a transform) is found before the replay
  begins, or the replay cannot be told. ``__main__`` is never imported, since that would
  run the experiment.
- Of one that cannot be found, the recorded source may be left: then it runs in the
  capsule, or in this process where whoever replays says that they trust it.
- A source is read once, when a step is made: `Named` keeps what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from muniment.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError, RefusedError
from muniment.programs import describe, find

__all__ = [
    "NO_SOURCES",
    "Function",
    "Named",
    "Remembered",
    "Sources",
    "named",
    "plain",
    "recall",
    "refer",
]

Function = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Named:
    """A function, and how plans name it."""

    function: Function
    described: Mapping[str, object]

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function."""
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Sources:
    """What a run recorded of the sources of its functions."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digest → text."""
    trusted: bool = False
    """Whether they may run in this process, and not in the capsule alone."""

    def recall(self, described: Mapping[str, object]) -> Function:
        """Return the function that a plan named: imported, else by its source.

        Raises:
            CannotTellError: it cannot be imported, and no source of it stands by
                itself.
            RefusedError: it is another one now, or its file runs something by itself.

        """
        try:
            return recall(described)
        except (CannotTellError, RefusedError):
            from muniment_plugins.harness import sourced  # noqa: PLC0415 - rare

            digest = str(described.get("source"))
            text = self.texts.get(digest)
            if text is not None and sha256_tag(text.encode()) != digest:
                raise  # the plan names another source than the one that is kept
            make = sourced.Trusted.of if self.trusted else sourced.Sourced.of
            left = None if text is None else make(described, text)
            if left is None:
                raise
            return left


NO_SOURCES = Sources()
"""Nothing is left of what cannot be imported."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A recorded function that is looked up when it is called."""

    described: Mapping[str, object]
    sources: Sources = field(default=NO_SOURCES, compare=False, repr=False)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function.

        Raises:
            CannotTellError: it cannot be found.

        """
        return self.found()(*args, **kwargs)

    def found(self) -> Function:
        """Return the function itself.

        Raises:
            CannotTellError: it cannot be found.

        """
        return self.sources.recall(self.described)


def named(function: Function) -> Named | Remembered:
    """Return *function* with its description, read now."""
    if isinstance(function, Named | Remembered):
        return function
    return Named(function, refer(function))


def refer(function: Function) -> dict[str, object]:
    """Return how a plan names *function*; where its file lies is not part of it."""
    known = getattr(function, "described", None)
    if isinstance(known, Mapping):
        return dict(cast("Mapping[str, object]", known))
    described = describe(function)
    return {name: described[name] for name in ("import", "source") if name in described}


def plain(function: Function) -> Function:
    """Return the function itself, whatever stands for it.

    Raises:
        CannotTellError: it has to be imported, and cannot be.

    """
    if isinstance(function, Remembered):
        return plain(function.found())
    if isinstance(function, Named):
        return plain(function.function)
    return cast("Function", getattr(function, "plain_function", function))


def recall(described: Mapping[str, object]) -> Function:
    """Return the function that a plan named.

    Raises:
        CannotTellError: it cannot be imported.

    """
    try:
        return find(cast("dict[str, JsonValue]", dict(described)), "")
    except CannotTellError as error:
        raise CannotTellError(
            f"the function {described.get('import')} cannot be imported, and what it "
            "said cannot be derived again",
            rule="harness/function",
            place="the recorded experiment",
            remedy="put it in a module, or give program=experiment.program, which is "
            "`--program FILE:NAME` on the command line",
        ) from error
