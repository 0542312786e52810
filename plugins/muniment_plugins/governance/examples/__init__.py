"""The examples that ship with the package: folders of files, which ``init`` writes out.

    flow     two steps over pinned data: no network, no model
    model    three questions to a model, of which the budget allows two

Rules:

- A name of a file is used by one example only: both may be in one folder.
- What `Example.commands` says works as it is written, in order, from its folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from muniment.documents.places import near
from muniment.errors import UsageError

__all__ = ["EXAMPLES", "Example", "example_called"]

_POSTMORTEM = "postmortem.json --policy postmortem-policy.json"


@dataclass(frozen=True, slots=True)
class Example:
    """One example."""

    name: str
    about: str
    commands: tuple[str, ...]
    """What to type first, in order."""
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Module → the extra of muniment that brings it."""

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each file, in the order of the names."""
        folder = files(__name__) / self.name
        for one in sorted(folder.iterdir(), key=lambda file: file.name):
            if one.is_file():  # Python keeps a folder of its own beside modules
                yield one.name, one.read_bytes()


EXAMPLES: Mapping[str, Example] = {
    one.name: one
    for one in (
        Example(
            "flow",
            "which service was down for longest, by incidents.jsonl",
            (
                "muniment run flow.json --policy policy.json",
                "muniment runs show last",
                "muniment replay last",
            ),
        ),
        Example(
            "model",
            "a postmortem by a model that may be asked twice",
            (
                f"muniment plan {_POSTMORTEM}",
                f"python stand_in.py muniment run {_POSTMORTEM}",
                "muniment inbox",
            ),
            {"httpx2": "openai"},
        ),
    )
}
"""The examples, by name."""


def example_called(name: str) -> Example:
    """Return the example called *name*.

    Raises:
        UsageError: there is none.

    """
    if name not in EXAMPLES:
        raise UsageError(
            f"no example is called {name!r:.80}",
            rule="example/unknown",
            place="--example",
            remedy=near(name, [*EXAMPLES]),
        )
    return EXAMPLES[name]
