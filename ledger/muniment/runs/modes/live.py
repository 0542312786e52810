"""The modes of a run: what each does with a fact, a request, an outcome and the end.

    live     performs, writes
    resume   answers the recorded part, then performs and writes
    replay   answers from the record, compares, writes nothing
    fork     answers what another run recorded, then performs and writes
    dry      writes nothing; plugins are asked, and kinds may say what they would answer

Rules:

- The recording asks the mode; nothing compares its name. What only some runs have, such
  as a record, differences or guards, belongs to their mode.
- A fact must be the program's to state (`events.own_types`): in each mode alike, since
  nothing is written of one that was refused.
- A fact or a request is matched first. If it is new, ``before_append`` is asked, and then it
  may be a difference.
- Only `Mode.outcome` writes. Numbers, times and ids that a program draws come from the
  seed and the record, in every mode alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar, NoReturn

from muniment.errors import AppendRefused, RefusedError, UsageError
from muniment.events.own_types import refuse_foreign
from muniment.runs.modes.doubt import Doubts
from muniment.runs.seams import Asking, EffectState, GateAnswer, RunState

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import Prepared
    from muniment.recorded.divergence import Divergence
    from muniment.recorded.items import Item
    from muniment.recorded.run import Recorded

__all__ = ["Dry", "Live", "Mode", "begun"]


class Mode:
    """Performs and writes, with no record to answer from."""

    name: ClassVar[str]
    writes: ClassVar[bool] = True
    """Whether the run writes events."""
    replays: ClassVar[bool] = False
    """Whether the record alone answers, and nothing may be touched."""
    is_held: ClassVar[bool] = False
    """Whether the program is compared with a record: of this run, or of its origin."""
    returned: ClassVar[str] = "completed"
    """The status of a run whose program returned."""

    doubts: Doubts = Doubts()
    """What is decided about effects in doubt, in this run and in its children."""

    def begin(self) -> None:
        """Notice that the program is called now, in this thread and task."""

    @property
    def record(self) -> Recorded | None:
        """The record that answers the run, and that it is compared with."""
        return None

    def require_own(
        self, scope: str, data: Mapping[str, object], prepared: Prepared
    ) -> None:
        """Refuse a fact that other code alone states, before anybody hears of it.

        Raises:
            UsageError: it is one.

        """
        refuse_foreign(prepared.type, data, scope)

    def fact(
        self,
        run: RunState,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Return the recorded fact that this one equals; None for a new one."""
        self.admit(run, scope, kind, data)
        return None

    def request(
        self,
        run: RunState,
        scope: str,
        kind: EffectKind,
        key: str,
        fields: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Return the recorded effect with this request; None for a new one."""
        self.admit(run, scope, prepared.type.name, fields)
        return None

    def admit(
        self, run: RunState, scope: str, kind: str, data: Mapping[str, object]
    ) -> None:
        """Ask ``before_append`` about a new event; a refusal is recorded.

        Raises:
            AppendRefused: a plugin refuses it.

        """
        try:
            run.port.admit(kind, data, run.run_id)
        except AppendRefused as refusal:
            raise run.refused(scope, kind, refusal) from None

    def admit_outcome(
        self, run: RunState, kind: str, data: Mapping[str, object]
    ) -> None:
        """Ask ``before_append`` about an outcome; a refusal makes it a failure.

        Raises:
            AppendRefused: a plugin refuses it.

        """
        run.port.admit(kind, data, run.run_id)

    def holds(self, scope: str, key: str) -> bool:
        """Tell whether a record has an effect with this match key, not used up yet."""
        return (
            self.record is not None and self.record.find_effect(scope, key) is not None
        )

    def answers(self, call: EffectState, item: Item) -> bool:
        """Tell whether the record answers *call*, which is performed otherwise."""
        raise AssertionError("without a record there is nothing to answer with")

    def settle(self, call: EffectState) -> None:
        """Refuse to answer *call* if its record ends before its outcome."""

    def offers(self, call: EffectState) -> bool:
        """Tell whether the record of another run answers *call*."""
        return False

    def clock(self, scope: str, moment: str) -> dict[str, object]:
        """Return what the clock in *scope* reads when the time is *moment*."""
        return {"time": moment}

    def salt(self, run: RunState, scope: str) -> str:
        """Return what the numbers drawn in *scope* follow from beside the seed.

        Without it, the first one that a plugin draws in a resume or a fork would be the
        first one of the record, which it got for another effect.
        """
        return ""

    def consult(self, call: EffectState) -> Asking:
        """Return what answers or refuses *call* in place of its performer."""
        run, scope = call.recording, call.place.scope
        return run.port.before_effect(
            call.beside, run.facts, scope, call.kind, call.request
        )

    def outcome(self, call: EffectState, prepared: Prepared, *, held: bool) -> None:
        """Write the outcome of a call that was performed."""
        run = call.recording
        draft = run.draft(prepared, call.place)
        if held:
            run.hold(draft)
        else:
            run.write(draft)

    def worded(self, call: EffectState, name: str, made: JsonValue) -> JsonValue:
        """Return the field *name* of an outcome as the program sees it."""
        return made

    def answered(self, kind: EffectKind, data: dict[str, JsonValue]) -> None:
        """Notice that the record answered the program with *data*."""

    def param(
        self, run: RunState, name: str, was: object, now: object, *, warns: bool
    ) -> None:
        """Compare the parameter *name* with the recorded one."""

    def lacks(self, scope: str, kind: str, what: str) -> None:
        """Notice *what* the record lacks, as facts *kind* in it say."""

    def differs(self, run: RunState, found: Divergence) -> NoReturn:
        """Stop the program with its difference from the record."""
        raise run.halt(found.error(run.run_id))

    def declare(self, run: RunState, found: Divergence) -> NoReturn:
        """Stop the program with a difference that is seen only where it runs."""
        self.differs(run, found)

    def finish(self, run: RunState) -> None:
        """Diverge where the program returned and the record has more."""

    def performing(self, call: EffectState) -> AbstractContextManager[object]:
        """Return the context in which the effect *call* is performed."""
        return nullcontext()

    def unguarded(self, guards: tuple[str, ...]) -> AbstractContextManager[object]:
        """Return the context of a program that replaces *guards* by its own."""
        return nullcontext()


class Live(Mode):
    """Performs and writes."""

    name = "live"


class Dry(Mode):
    """Writes nothing, and ends if a kind cannot say what it would answer."""

    name = returned = "dry"
    writes = False

    def consult(self, call: EffectState) -> Asking:
        """Let plugins answer or refuse, as in a live run; otherwise the kind answers."""
        given = yield from super().consult(call)
        if given is not None:
            return given
        if call.kind.dry is not None:
            return GateAnswer(call.kind.dry(call.request), {"who": "dry run"})
        end = RefusedError(
            f"the dry run ends here: {call.kind.name} cannot say its answer",
            rule="run/dry-end",
            place=f"run {call.recording.run_id}",
        )
        raise call.recording.halt(end)

    def outcome(self, call: EffectState, prepared: Prepared, *, held: bool) -> None:
        """Write nothing."""


_BEGUN: Mapping[str, type[Mode]] = {"live": Live, "dry": Dry}


def begun(name: str) -> Mode:
    """Return the mode *name* for a new run.

    Raises:
        UsageError: a run cannot begin in it, or there is no such mode.

    """
    try:
        return _BEGUN[name]()
    except KeyError:
        raise UsageError(
            f"{name!r} is not a mode of a run",
            rule="run/mode",
            remedy="use live or dry; replay, resume and fork are functions of their own",
        ) from None
