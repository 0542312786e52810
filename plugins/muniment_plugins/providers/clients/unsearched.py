"""Says which bodies were recorded although a secret may be in them.

    recording.unsearched  {"bodies": [["answer", "GET https://…", "it unpacks to …"]]}

Rules: it is a fact beside the program's own, which no replay compares, and is said to
people, too: once for each body and reason. A replay says nothing again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from muniment.runs.run import Run
    from muniment_plugins.providers.clients.exchange import Exchange
    from muniment_plugins.providers.clients.received import Received

__all__ = [
    "UNSEARCHED",
    "UnsearchedBody",
    "UnsearchedWarning",
    "line",
    "look",
]

UNSEARCHED = "recording.unsearched"

_BODILESS = (204, 304)
_CALLER = 2
_KNOWN = "providers.unsearched"


class UnsearchedWarning(UserWarning):
    """A body was recorded, and not all of it was searched for secrets."""


class UnsearchedBody(NamedTuple):
    """A body that was not searched."""

    part: str
    """``request`` or ``answer``."""
    call: str
    """Method and URL."""
    why: str

    @classmethod
    def of(cls, one: Exchange) -> list[UnsearchedBody]:
        """Return those of an exchange."""
        call = f"{one.request['method']} {one.request['url']}"
        return [cls(part, call, why) for part, why in one.unsearched.items()]

    def __str__(self) -> str:
        """Say which, and why."""
        what = "the answer of" if self.part == "answer" else "the body of"
        return f"{what} {self.call} ({self.why})"


def line(bodies: Iterable[object]) -> str:
    """Return what is said of *bodies*."""
    return f"not searched for secrets: {'; '.join(map(str, bodies))}"


def look(run: Run, one: Exchange, head: Received, unpacked: Iterable[str]) -> None:
    """Record what is not searched of *one* beside the facts of *run*, and warn.

    Its answer begins with *head*, and comes without the codings that are *unpacked*.
    """
    from muniment.runs.lanes.of_plugins import (  # noqa: PLC0415 - there is a run
        lane_of_plugin,
    )
    from muniment_plugins.providers.recorder.inside.wire import (  # noqa: PLC0415 - the recorder tells bodies, too
        codings,
    )

    sent = one.request["method"] != "HEAD" and head.status not in _BODILESS
    if sent and head.header("content-length") != "0":
        found = codings(head.headers, "content-encoding")
        unknown = [coding for coding in found if coding not in unpacked]
        if unknown:
            one.unsearched["answer"] = f"nothing here unpacks {', '.join(unknown)}"
    known = cast(
        "set[UnsearchedBody]", run.memory.setdefault(_KNOWN, set[UnsearchedBody]())
    )
    new = [body for body in UnsearchedBody.of(one) if body not in known]
    if new:
        known.update(new)
        said = {"bodies": [[*body] for body in new]}
        lane_of_plugin(run, "providers").record(UNSEARCHED, said)
        warnings.warn(line(new), UnsearchedWarning, stacklevel=_CALLER)
