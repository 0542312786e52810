"""What a lane of a run can wait for: time, other runs, people, a resume; and marks.

Rules: each is built on facts and effects, and has no state beside the ledger.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from muniment.errors import UsageError
from muniment.formats.decisions import Decision
from muniment.formats.lifecycle import MARKED
from muniment.programs.functions import Program
from muniment.queries.readable import ReadableLedger
from muniment.recorded.compare import is_of_plugin
from muniment.runs.waits.asked_decision import AskedDecision
from muniment.runs.waits.called_run import CalledRun
from muniment.runs.waits.decisions import ask, asking
from muniment.runs.waits.own import own
from muniment.runs.waits.timers import Timer

if TYPE_CHECKING:
    from muniment.runs.effect_call import Call
    from muniment.runs.recording import Recording

__all__ = ["WaitingLane"]

_MARK = re.compile(r"[a-z][a-z0-9_]{0,63}")


class WaitingLane(ABC):
    """The half of a `Run` that waits."""

    __slots__ = ()

    if TYPE_CHECKING:
        _call: Call | None
        _recording: Recording
        scope_path: str

    @abstractmethod
    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Do what cannot be computed, or answer it from the record."""

    @abstractmethod
    async def aeffect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Do as `effect` does, awaiting what *perform* returns if needed."""

    @property
    def replays(self) -> bool:
        """Whether the record alone answers, so that the program may touch nothing."""
        return self._recording.mode.replays

    @property
    def performs(self) -> bool:
        """Whether what is new is performed: not in a replay, nor in a dry run."""
        return self._recording.mode.writes

    @abstractmethod
    def scope(self, name: str) -> Self:
        """Return the lane *name* below this one."""

    @abstractmethod
    def _here(self) -> str:
        """Return the scope that this handle stands for where it is used."""

    @abstractmethod
    def _performing(self) -> Call | None:
        """Return the effect of this run whose performer is calling, if one is."""

    @property
    def reader(self) -> ReadableLedger:
        """The ledger that records the run, for reading: also what others wrote meanwhile.

        What it says is of the world: a program that acts on it reads it in an effect, so
        that a replay is told the same.

        Raises:
            UsageError: the record alone answers, as in a replay.

        """
        self._recording.owner.require()
        if self._recording.mode.replays:
            raise UsageError(
                "a replay reads nothing but the record",
                rule="replay/reader",
                place=f"run {self._recording.run_id}",
                remedy="read the ledger in an effect, which the record answers",
            )
        return cast("ReadableLedger", self._recording.port.reads)

    def keep_private(self, *, effects: bool = False, everywhere: bool = False) -> None:
        """Let what happens in this lane from now on, and below it, say that it is private.

        Its contents are recorded as ever; views, exports and reports leave them out unless
        they are asked for. Inside a ``perform`` it is the effect that is private, as far as
        it is not written yet.

        Args:
            effects: whether its facts stay as they are; what people are asked, and by
                what the run fails, is private with the effects.
            everywhere: whether the whole run is kept private.

        Raises:
            UsageError: the calling code only listens to the run.

        """
        self._recording.owner.require()
        scope = "" if everywhere else self._here()
        self._recording.privacy.keep(scope, effects=effects)

    def _leave(self, error: BaseException | None) -> None:
        """Note that *error*, if there is one, leaves the lane, and cuts its effect off."""
        if self._call is not None and not isinstance(error, Exception | None):
            self._recording.cut_off()
        self._recording.privacy.follow(self.scope_path, error)

    def tells_private(self, error: BaseException) -> bool:
        """Tell whether *error* says something that the run keeps private.

        It came out of a private lane, or of an effect that is private.
        """
        return self._recording.privacy.tells(error)

    def is_kept_private(self, scope: str) -> bool:
        """Tell whether the effects in *scope*, a lane of the run, are private."""
        return self._recording.privacy.holds(scope)

    def keep_order(self) -> None:
        """Say that one thread or task at a time works in this lane; not in those below.

        Then a resume, or a fork, stops before anything new in it while its record has
        something there that did not come again, also while others run. A program of one
        thread need not say it.
        """
        self._recording.owner.require()
        self._recording.ordered.add(self._here())

    def flush(self) -> None:
        """Write the facts that were stated so far, durably, if the run writes any.

        For facts that somebody else waits for; the next effect writes them anyway.
        """
        if self._recording.mode.writes:
            self._recording.flush()

    def mark(self, mark: str, reason: str) -> None:
        """Mark the run; whoever reads, exports or bundles it sees the mark.

        A mark is a fact of this lane. Nothing takes it away: ``non_certifiable`` says
        that no verdict on this run may be relied upon.

        Raises:
            UsageError: the mark is not a short name, or there is no reason.

        """
        if not _MARK.fullmatch(mark) or not reason:
            raise UsageError(
                f"{mark!r:.80} does not mark a run, or no reason is given",
                rule="run/mark",
                remedy="a mark is of a-z, 0-9 and _, as in non_certifiable; say why",
            )
        data = {"mark": mark, "reason": reason}
        self._recording.record(self._here(), MARKED, data)

    def pause(self, reason: str, *, everywhere: bool = False) -> None:
        """Wait here until somebody resumes the run; a resume and a replay pass it.

        Args:
            reason: why; whoever looks at the paused run is told.
            everywhere: whether lanes that are at once with this one (`at_once`) stop at
                their next effect, too. Else they go on, and the run pauses after them.

        Raises:
            RunPaused: the run stops in this process; it is not an ``Exception``.
            UsageError: the code runs inside a ``perform``.

        """
        self._refuse_inside("pause")
        self._recording.pause(self.scope_path, reason, everywhere=everywhere)

    def decide(
        self,
        subject: object,
        prompt: str = "",
        quorum: int = 1,
        of: Iterable[str] = (),
    ) -> Decision:
        """Ask people to decide on *subject*, and return what they decided.

        The run pauses until enough of them have answered; a resume looks again, and a
        replay is answered from the record.

        Args:
            subject: what they decide on: any value that can be recorded.
            prompt: what they are asked.
            quorum: how many people have to approve: holders of keys.
            of: the ids of the keys that may answer; every approver's if empty.

        Raises:
            RunPaused: they have not decided yet; it is not an ``Exception``.
            RefusedError: the ledger's event version has no decisions.
            UsageError: the quorum cannot be reached, or the code runs inside a
                ``perform``.

        """
        self._refuse_inside("decide")
        return self.ask(subject, prompt, quorum, of).decide()

    def ask(
        self,
        subject: object,
        prompt: str = "",
        quorum: int = 1,
        of: Iterable[str] = (),
    ) -> AskedDecision:
        """Ask people as `decide` does, without waiting for them yet.

        So several questions can be asked before the run waits for the first of them, and
        people find all of them at once.

        Raises:
            RefusedError: the ledger's event version has no decisions.
            UsageError: the quorum cannot be reached, or the code runs inside a
                ``perform``.

        """
        self._refuse_inside("ask")
        asked = asking(subject, prompt, quorum, of)
        scope = self.scope_path
        handle = ask(self._recording, scope, asked)
        require = partial(self._refuse_inside, "decide")
        return AskedDecision(self._recording, scope, handle, require)

    @contextmanager
    def at_once(self, names: Iterable[str]) -> Generator[tuple[Self, ...]]:
        """Give the lanes *names* below this one, which wait each for itself.

        They run at once, each in a thread or a task of its own. A question in one of them
        that people have not decided yet stops that lane alone, and so does a pause. Once
        the block has ended, the run pauses for all that its lanes wait for; so people find
        their questions together, and one resume goes on with all that is there. The block
        has to wait for the threads and tasks that it began.

        Raises:
            RunPaused: a lane waits; it is not an ``Exception``.
            UsageError: a name is none, or is there twice.

        """
        self._recording.owner.require()
        lanes = tuple(self.scope(one) for one in names)
        scopes = [one.scope_path for one in lanes]
        if len({*scopes}) != len(scopes) or self._recording.waits_apart(scopes):
            raise UsageError(
                "two lanes that are at once have one name",
                rule="scope/name",
                place=self.scope_path or "(root)",
                remedy="give each a name of its own",
            )
        with self._recording.apart(scopes, self._here()):
            yield lanes

    async def adecide(
        self,
        subject: object,
        prompt: str = "",
        quorum: int = 1,
        of: Iterable[str] = (),
    ) -> Decision:
        """Ask people as `decide` does, once the tasks that are ready have run.

        Nothing waits in the process, so neither does its event loop. A task that is
        cancelled before it asks has asked nobody.
        """
        from asyncio import sleep  # noqa: PLC0415 - sync code needs none

        self._refuse_inside("decide")
        await sleep(0)
        return self.decide(subject, prompt, quorum, of)

    def _refuse_inside(self, what: str) -> None:
        self._recording.owner.require()
        if self._performing() is not None:
            raise UsageError(
                f"a performer cannot {what}: its effect would have no outcome",
                rule="effect/inside",
                remedy=f"call `run.{what}` before or after the effect",
            )
        if is_of_plugin(self.scope_path):
            raise UsageError(
                f"a plugin's lane cannot {what}: no resume finds there what was stated",
                rule="scope/plugin",
                place=self.scope_path,
                remedy=f"call `run.{what}` in a lane of the program",
            )

    def sleep(self, seconds: float) -> None:
        """Wait *seconds*; a resume waits for the rest of them, a replay not at all.

        Raises:
            UsageError: *seconds* are negative, or not a finite number.

        """
        self.effect("timer", Timer(seconds), own)

    async def asleep(self, seconds: float) -> None:
        """Wait as `sleep` does, and let other tasks run."""
        await self.aeffect("timer", Timer(seconds), own)

    def call(
        self,
        program: Program,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> object:
        """Run *program* as a child run in the same ledger, and return its result.

        A resume resumes the child, or takes its result; a replay is answered from the
        record. If the child pauses, so does this run.

        Raises:
            EffectFailed: the child failed; a resume of this run resumes it.
            ReplayDiverged: the record holds no such call.

        """
        called = self._call_of(program, params, name)
        called.refuse_async()
        return self.effect("child", called, own)

    async def acall(
        self,
        program: Program,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> object:
        """Do as `call` does, for a *program* that may be asynchronous."""
        called = self._call_of(program, params, name)
        return await self.aeffect("child", called, own)

    def _call_of(
        self, program: Program, params: Mapping[str, object] | None, name: str | None
    ) -> CalledRun:
        seed = self._recording.draw_seed(self._here())
        return CalledRun(program, seed, params or {}, name)
