"""What a fork gives a recorded program in place of an answer, as its answers are recorded.

Rules: a text, or any JSON, becomes a whole HTTP answer in the format that the program asked
for, as what a policy gives does. A whole answer, as a record has one, is given as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment import GateAnswer
from muniment.errors import UsageError
from muniment_plugins.providers.clients.stand_ins import on_the_wire

__all__ = ["changed_answer"]


@dataclass(frozen=True, slots=True)
class _Recorded:
    kind: str
    request: Mapping[str, object]


def changed_answer(kind: str, request: object, value: object) -> object:
    """Return the HTTP answer to a recorded *request* that says *value*.

    Raises:
        UsageError: there is no such answer.

    """
    asked = _Recorded(kind, cast("Mapping[str, object]", request))
    given = on_the_wire(asked, GateAnswer(value))
    if given.error is None:
        return given.value
    raise UsageError(
        "no answer to this request says that",
        rule="fork/change",
        place=f"{kind} {asked.request.get('url', '')}".strip(),
        remedy="give a whole answer, as `muniment events show` prints the recorded one: "
        "status, headers and chunks",
    )
