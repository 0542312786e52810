"""Functions that are made from their recorded source, and the refusal of changed ones."""

from __future__ import annotations

from collections.abc import Mapping

from muniment.errors import RefusedError
from muniment.programs.functions import CHANGED
from muniment.programs.references import StandIn

__all__ = ["FromSource", "another"]


class FromSource(StandIn):
    """A function that is made from its recorded source."""

    __slots__ = ()
    changed: bool
    """Whether its file is there, and is another now."""


def another(
    described: Mapping[str, object], more: str = "", place: str = ""
) -> RefusedError:
    """Return the refusal of a function in a file that is not the recorded one."""
    return RefusedError(
        f"the function {described.get('import')} is not the one that ran: its file "
        f"changed, or is another{more}",
        rule=CHANGED,
        place=place or "the recorded experiment",
        remedy="put the file back; to run it as it is now, give "
        "program=experiment.program, which is `--program FILE:NAME` on the command line",
    )
