"""Kinds of effects that only the code of their declaration performs.

    EffectKind("timer", own="muniment.runs.waits.timers:Timer")
    lane.effect("timer", Timer(60), own)

Rules:

- Whoever wants such an effect hands over an object of exactly that class. It says what is
  requested, and it performs the effect: what a program hands over beside it is not called.
- So nothing of the world is asked under such a name, and a budget need not count it.
- Whoever is refused one writes nothing, so a replay, a resume and a fork refuse it as well,
  whatever the record has: an equal request there is one of the kind's own. A replay in a
  ledger of before such kinds were the kernel's takes what a program performed then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from muniment.errors import UsageError
from muniment.format_versions import WAITS
from muniment.lazy import loaded
from muniment.runs.waits.stand_ins import AnswerableRequest

if TYPE_CHECKING:
    from muniment.events.effect_kinds import EffectKind
    from muniment.runs.recording import Recording
    from muniment.runs.waits.stand_ins import Reads

__all__ = ["OwnRequest", "own", "refuse_opening", "taken"]


class OwnRequest(Protocol):
    """What a kind that performs its effects itself takes as a request."""

    def request(self) -> object:
        """Return the request in the record."""
        ...

    def perform(self, call: object, *, awaits: bool) -> object:
        """Perform *call*, the effect; the result may be awaited if the caller *awaits*."""
        ...


def own(_: object) -> NoReturn:
    """Stand in the place of a performer, where the kind has its own."""
    raise AssertionError("the kind performs it")


def _own_request(kind: EffectKind, request: object) -> OwnRequest | None:
    """Return *request* if it is one that performs itself; None if *kind* has none.

    Raises:
        UsageError: the kind performs its effects itself, and this is none of them.

    """
    if kind.own is None:
        return None
    module, _, name = kind.own.partition(":")
    if type(request) is loaded(module, name):
        return cast("OwnRequest", request)
    child = kind.name == "child"
    raise UsageError(
        "an effect of the kind child is a call of a run"
        if child
        else f"effects of the kind {kind.name} are performed by its own code alone",
        rule="effect/child" if child else "effect/own",
        place=f"{request!r:.80}",
        remedy="use `run.call(program)`, or another kind"
        if child
        else "use another kind, such as tool; to wait, `run.sleep(seconds)`",
    )


def taken(
    recording: Recording, kind: EffectKind, request: object
) -> tuple[object, OwnRequest | None, Reads | None]:
    """Return what the record has of *request*, and what performs it, if that is its own.

    Beside them, how an answer is read that a plugin gives in its place, if somebody says.

    Raises:
        UsageError: the kind performs its effects itself, and this is none of them.

    """
    if kind.own is None:
        if isinstance(request, AnswerableRequest):
            return request.request, None, request.reads
        return request, None, None
    foreign = kind.name != "child" and not hasattr(request, "request")
    if foreign and recording.mode.replays and recording.port.event_format < WAITS:
        return request, None, None  # a program may have performed it then
    performer = _own_request(kind, request)
    kept = request if performer is None else performer.request()
    return kept, performer, None


def refuse_opening(kind: EffectKind) -> None:
    """Refuse that a caller performs an effect which its kind performs itself.

    Raises:
        UsageError: it would.

    """
    if kind.own is not None:
        _own_request(kind, None)
