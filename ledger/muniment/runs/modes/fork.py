"""The modes of a fork: another run's record answers up to one event, then it is live.

    fork     a new run; what the other run's record holds up to the event is answered
    resume   of a fork: its own record comes first, then the other run's

    tool.completed  "answered_by": {"who": "record", "run": "01JC…", "seq": 9, "leaf": …}

Rules:

- Answers are written into the fork's own record, each with the event that it comes from:
  the fork is listed, replayed and verified by itself.
- A changed value says so: ``"who": "change"``.
- Nobody is asked about an effect that the record answers, and nothing is performed.
  ``before_append`` is asked, since the fork's events are new.
- A resume follows both records in step, so that effects which the fork had not reached
  are still answered. An effect whose failure ended the fork is performed, not answered:
  from there on the program goes its own way, in this resume and in those after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from muniment.encoding.codec import decode
from muniment.errors import AppendRefused, EffectFailed, MunimentError
from muniment.formats.statement import Event
from muniment.recorded.compare import is_of_plugin
from muniment.recorded.divergence import Divergence
from muniment.recorded.items import Item
from muniment.recorded.links import ComparedFact, stated
from muniment.recorded.origin import Followed, Origin
from muniment.runs.flow import ProgramFlow
from muniment.runs.modes.doubt import Doubts
from muniment.runs.modes.live import Mode
from muniment.runs.modes.resumed import Resume
from muniment.runs.seams import EffectState, GateAnswer, RunState

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import Prepared
    from muniment.recorded.run import Recorded

__all__ = ["Fork", "ResumedFork"]


class Fork(Mode):
    """Answers from the record of another run, then performs; writes everything."""

    name = "fork"
    is_held = True

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._asked: Item | None = None
        """What the origin has for the effect that is being requested."""

    def begin(self) -> None:
        """Begin to follow the program's threads and tasks."""
        self.origin.is_alone = ProgramFlow().is_alone

    def fact(
        self,
        run: RunState,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the fact in the origin, or diverge, or let it be new."""
        facts, ordered = _stated(run, prepared), scope in run.ordered
        found = self.origin.fact(scope, kind, facts, ordered=ordered)
        item = _settled(self, self.origin, run, (scope, kind), found)
        super().fact(run, scope, kind, data, prepared)
        return item

    def request(
        self,
        run: RunState,
        scope: str,
        kind: EffectKind,
        key: str,
        fields: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the effect in the origin, or diverge, or let it be new."""
        asked = prepared.type.name
        got, ordered = _asked(run, scope, prepared), scope in run.ordered
        found = self.origin.effect(scope, kind.name, key, got, ordered=ordered)
        self._asked = _settled(self, self.origin, run, (scope, asked), found)
        return super().request(run, scope, kind, key, fields, prepared)

    def holds(self, scope: str, key: str) -> bool:
        """Tell whether the origin has an effect with this match key, not used up yet."""
        return self.origin.holds(scope, key)

    def offers(self, call: EffectState) -> bool:
        """Answer with the outcome that the origin has."""
        return _offers(self.origin, call, self._asked)

    def clock(self, scope: str, moment: str) -> dict[str, object]:
        """Return what the origin read; the time here beyond it."""
        return _read(self.origin, scope, super().clock(scope, moment))

    def salt(self, run: RunState, scope: str) -> str:
        """Return the id of the fork, for the lane of a plugin."""
        return run.run_id if is_of_plugin(scope) else ""

    def finish(self, run: RunState) -> None:
        """Diverge if the program ended before the event."""
        _finish(self, self.origin, run)


class ResumedFork(Resume):
    """Answers from the fork's own record, then from the origin's, then performs."""

    def __init__(self, record: Recorded, origin: Origin, *, doubts: Doubts) -> None:
        super().__init__(record, doubts=doubts)
        self.origin = origin
        self._asked: Item | None = None

    def begin(self) -> None:
        """Begin to follow the program's threads and tasks."""
        super().begin()
        self.origin.is_alone = self.flow.is_alone

    def fact(
        self,
        run: RunState,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the fact in both records; it is new if the fork's own lacks it."""
        facts, ordered = _stated(run, prepared), scope in run.ordered
        found = self.origin.fact(scope, kind, facts, ordered=ordered)
        item = super().fact(run, scope, kind, data, prepared)
        return item or _settled(self, self.origin, run, (scope, kind), found)

    def request(
        self,
        run: RunState,
        scope: str,
        kind: EffectKind,
        key: str,
        fields: Mapping[str, object],
        prepared: Prepared,
    ) -> Item | None:
        """Find the effect in both records; it is new if the fork's own lacks it."""
        asked = prepared.type.name
        got, ordered = _asked(run, scope, prepared), scope in run.ordered
        found = self.origin.effect(scope, kind.name, key, got, ordered=ordered)
        item = super().request(run, scope, kind, key, fields, prepared)
        if item is None:
            self._asked = _settled(self, self.origin, run, (scope, asked), found)
        else:
            self._asked = found if isinstance(found, Item) else None
        return item

    def answers(self, call: EffectState, item: Item) -> bool:
        """Answer with the outcome that a record has, the fork's own first."""
        asked = self._asked
        if (
            item.outcome is None
            and item.attempts == 1
            and _give(self.origin, call, asked)
        ):
            return True
        known = super().answers(call, item)
        if asked is None or asked.outcome is None:
            return known
        if _is_changed(self.origin, asked):
            self.origin.loosen(item.scope)
        elif not known or _leaf(item) != asked.outcome.hash:
            self.origin.depart(asked)
        return known

    def holds(self, scope: str, key: str) -> bool:
        """Tell whether a record has an effect with this match key, not used up yet."""
        return super().holds(scope, key) or self.origin.holds(scope, key)

    def offers(self, call: EffectState) -> bool:
        """Answer with an outcome that the origin has and the fork's own record lacks."""
        return _offers(self.origin, call, self._asked)

    def clock(self, scope: str, moment: str) -> dict[str, object]:
        """Return what the origin read; the time here beyond it."""
        return _read(self.origin, scope, super().clock(scope, moment))

    def finish(self, run: RunState) -> None:
        """Diverge if either record has more."""
        super().finish(run)
        _finish(self, self.origin, run)


def _stated(run: RunState, prepared: Prepared) -> ComparedFact:
    above = run.ancestors
    return stated(prepared, (run.run_id, *above[:1], *above[-1:]))


def _asked(run: RunState, scope: str, prepared: Prepared) -> ComparedFact:
    return stated(prepared, private=run.privacy.holds(scope))


def _settled(
    mode: Mode,
    origin: Origin,
    run: RunState,
    asked: tuple[str, str],
    found: Followed,
) -> Item | None:
    """Return the item *found*; diverge if it differs, or refuse what was refused."""
    if isinstance(found, Divergence):
        mode.differs(run, found)
    if isinstance(found, Event):
        told = origin.record.data(found)
        refusal = AppendRefused.by_plugin(str(told["plugin"]), str(told["reason"]))
        raise run.refused(*asked, refusal)
    return found


def _offers(origin: Origin, call: EffectState, item: Item | None) -> bool:
    """Answer a new call if possible; its request is written with the outcome."""
    if not _give(origin, call, item):
        return False
    call.recording.defer(call.asked, call.place)
    return True


def _give(origin: Origin, call: EffectState, item: Item | None) -> bool:
    """Answer *call* with the outcome that *item* has in the origin, if it has one."""
    outcome = None if item is None else item.outcome
    if item is None or outcome is None or item.cancelled:
        return False
    call.is_copied = True
    ended = None if _is_changed(origin, item) else outcome
    call.recording.privacy.copy(call.place, item.event, ended)
    try:
        _copy_about(origin, call, item.event)
        if _is_changed(origin, item):
            origin.loosen(item.scope)
            by, value = origin.by(outcome, "change"), origin.values[outcome.seq]
            call.given = GateAnswer(value, by)
            told = {"value": cast("JsonValue", value)}
            call.about = {"secrets": True} if call.kind.holds_secret(told) else {}
        else:
            call.given = _answer(origin, call, outcome)
            call.about = _about(origin, call, outcome)
    except MunimentError as error:
        call.recording.halt(error)
        raise
    return True


def _about(origin: Origin, call: EffectState, event: Event) -> Mapping[str, object]:
    """Return what the origin's *event* says about its content."""
    told = event.raw.get("about")
    if isinstance(told, dict) and "$blob" in told:
        told = origin.record.content(event, "about")
    about = decode(told, call.recording.port.values)
    return cast("Mapping[str, object]", about) if isinstance(about, dict) else {}


def _copy_about(origin: Origin, call: EffectState, event: Event) -> None:
    """Let the request say what the origin's request *event* says about it.

    The kind may say something else today.
    """
    about = _about(origin, call, event) or None
    asked = call.asked
    told = call.recording.port.validate(asked.type.name, {"about": about})
    asked.inline.pop("about", None)
    asked.contents.pop("about", None)
    asked.inline.update({k: v for k, v in told.inline.items() if k == "about"})
    asked.contents.update({k: v for k, v in told.contents.items() if k == "about"})


def _answer(origin: Origin, call: EffectState, outcome: Event) -> GateAnswer:
    """Return exactly what the origin's *outcome* says."""
    values, by = call.recording.port.values, origin.by(outcome)
    if outcome.type.endswith(".completed"):
        value = decode(origin.record.content(outcome, "value"), values)
        return GateAnswer(value, by)
    message = cast("str", origin.record.content(outcome, "message"))
    data = decode(origin.record.content(outcome, "data"), values)
    error_type = cast("str", outcome.raw["error_type"])
    error = EffectFailed(call.kind.name, error_type, message, cast("JsonValue", data))
    error.message = message  # as it was, empty or not
    vars(error)["redacted"] = True  # when it was recorded
    call.reason = cast("str | None", outcome.raw.get("reason"))
    said = outcome.raw.get("answered_by")
    call.halts = isinstance(said, dict) and said.get("halts") is True
    return GateAnswer(by=by, error=error)


def _leaf(item: Item) -> object:
    """Return the leaf hash of the event that answered *item*, if a record did."""
    by = None if item.outcome is None else item.outcome.raw.get("answered_by")
    return by.get("leaf") if isinstance(by, dict) else None


def _is_changed(origin: Origin, item: Item) -> bool:
    return item.outcome is not None and item.outcome.seq in origin.values


def _read(origin: Origin, scope: str, here: dict[str, object]) -> dict[str, object]:
    known = origin.clock(scope)
    if known is None:
        return here
    return {"time": known.raw["time"], "answered_by": origin.by(known)}


def _finish(mode: Mode, origin: Origin, run: RunState) -> None:
    if (left := origin.left()) is not None:
        mode.differs(run, left.missing)
