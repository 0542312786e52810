"""Functions of a plan, found again: imported, else from their recorded source.

Rules:

- A function whose *answer* is recorded (a datasource, a model) may be a lambda: a
  replay does not look for it. One that a replay has to *call* (a verifier, a transform)
  must be found before the replay begins, or the replay cannot tell. ``__main__`` is
  never imported, because that would run the experiment.
- The start of the run has the digests of their files (`describe_program`): a file is
  imported only if it is what was recorded. For records without them, the function's own
  text is compared.
- If a function cannot be found, or changed, its recorded source may be left: then it
  runs in the capsule, or in this process if whoever replays trusts it. If it does not
  run by itself, the file that changed is named. Nothing goes live with it.
- A function that an earlier edition named by import path, and that has a stable name
  now, is the same function: it describes itself as it was recorded then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Self, cast

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError, RefusedError
from muniment.plugins import Plugins
from muniment.programs.functions import CHANGED, find
from muniment.programs.references import (
    Function,
    Named,
    Remembered,
    plain,
    refer,
    whole,
)
from muniment.programs.stable_names import StableNames
from muniment_plugins.harness.declared_names import NAMES
from muniment_plugins.harness.functions.from_source import another

__all__ = [
    "NO_SOURCES",
    "Sources",
    "installed_names",
    "judging_name",
    "recall",
]


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of functions that a run recorded."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digest → text."""
    trusted: bool = False
    """Whether they may run in this process rather than only in the capsule."""
    names: StableNames | None = field(default=None, compare=False)
    """The known stable names; by default those of the installed plugins."""
    files: tuple[Mapping[str, object], ...] = ()
    """The functions as the start of the run describes them, with their files."""

    @property
    def imported(self) -> Self:
        """Itself without texts: for functions that are never made from their source."""
        return replace(self, texts={})

    def remembered(self, described: Mapping[str, object]) -> Remembered:
        """Return the stand-in for a function that a plan named."""
        return Remembered(whole(described, self.files), self)

    def knew(self, described: Mapping[str, object]) -> bool:
        """Tell whether *described* is the earlier import path of a stable name."""
        known = installed_names() if self.names is None else self.names
        return "import" in described and known.of(described) is not None

    def recall(self, described: Mapping[str, object]) -> Function:
        """Return the function that a plan named: imported, else from its source.

        Raises:
            CannotTellError: it cannot be imported, and has no self-contained source.
            RefusedError: it is another function now, or importing its file would run
                something.

        """
        known = {**whole(described, self.files), "functions": self.files}
        try:
            return recall(known, self.names)
        except (CannotTellError, RefusedError) as refusal:
            from muniment_plugins.harness.functions import recorded_source  # noqa: PLC0415 - rare

            digest = str(described.get("source"))
            text = self.texts.get(digest)
            if text is not None and sha256_tag(text.encode()) != digest:
                raise  # the plan names another source than the recorded one
            make = (
                recorded_source.Trusted.of
                if self.trusted
                else recorded_source.Sourced.of
            )
            changed = isinstance(refusal, RefusedError) and refusal.rule == CHANGED
            around = cast("Collection[str]", known.get("around") or ())
            left = None if text is None else make(described, text, changed, around)
            if left is None:
                raise
            return left


NO_SOURCES = Sources()
"""No source is left of functions that cannot be imported."""


@cache
def installed_names() -> StableNames:
    """Return our own stable names and those of the active plugins, looked up once."""
    return StableNames((*NAMES, *Plugins().names.declared))


def judging_name(function: Function) -> dict[str, object]:
    """Return how a verdict names its verifier, with the source as it is now."""
    if isinstance(function, Named) and function.settled:
        return refer(function)
    return refer(plain(function))


def recall(
    described: Mapping[str, object], names: StableNames | None = None
) -> Function:
    """Return the function that a plan named.

    Args:
        described: how the plan named it.
        names: the known stable names; by default those of the installed plugins.

    Raises:
        CannotTellError: it cannot be imported, or no plugin declares its stable name.
        RefusedError: it is another function now.

    """
    known = installed_names() if names is None else names
    try:
        said = cast("dict[str, JsonValue]", dict(described))
        if str(said.get("import")).startswith("__main__:"):
            said.pop("file", None)  # importing it would run the experiment
        return find(said, "", names=known)
    except RefusedError as refusal:
        if refusal.rule != CHANGED:
            raise
        raise another(described, "", refusal.place) from refusal
    except CannotTellError as error:
        if "import" not in described:
            raise
        raise CannotTellError(
            f"the function {described.get('import')} cannot be imported, and what it "
            f"said cannot be derived again: {error.message}",
            rule="harness/function",
            place="the recorded experiment",
            remedy="put it in a module, or give program=experiment.program, which is "
            "`--program FILE:NAME` on the command line",
        ) from error
