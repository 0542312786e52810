"""What a lane of a run can wait for: time, other runs, people, a resume; and marks.

Rules: each is built on facts and effects, and has no state beside the ledger.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from muniment.errors import UsageError
from muniment.formats.decisions import Decision
from muniment.formats.lifecycle import MARKED
from muniment.programs.functions import Program
from muniment.recorded.compare import is_of_plugin
from muniment.runs.waits.called_run import CalledRun
from muniment.runs.waits.decisions import asking, decide
from muniment.runs.waits.timers import left, timer, wait

if TYPE_CHECKING:
    from muniment.runs.effect_call import Call
    from muniment.runs.recording import Recording

__all__ = ["WaitingLane"]

_MARK = re.compile(r"[a-z][a-z0-9_]{0,63}")


class WaitingLane(ABC):
    """The half of a `Run` that waits."""

    __slots__ = ()

    if TYPE_CHECKING:
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

    @abstractmethod
    def _here(self) -> str:
        """Return the scope that this handle stands for where it is used."""

    @abstractmethod
    def _performing(self) -> Call | None:
        """Return the effect of this run whose performer is calling, if one is."""

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

    def pause(self, reason: str) -> None:
        """Wait here until somebody resumes the run; a resume and a replay pass it.

        Raises:
            RunPaused: the run stops in this process; it is not an ``Exception``.
            UsageError: the code runs inside a ``perform``.

        """
        self._refuse_inside("pause")
        self._recording.pause(self.scope_path, reason)

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
        asked = asking(subject, prompt, quorum, of)
        return decide(self._recording, self.scope_path, asked)

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
        self.effect("timer", timer(seconds), lambda _: wait(self._left(seconds)))

    async def asleep(self, seconds: float) -> None:
        """Wait as `sleep` does, and let other tasks run."""
        from asyncio import sleep  # noqa: PLC0415 - sync code needs none

        await self.aeffect(
            "timer", timer(seconds), lambda _: sleep(self._left(seconds))
        )

    def _left(self, seconds: float) -> float:
        """Return how long the performer of a timer must wait."""
        call = self._performing()
        return left(seconds, None if call is None else call.recorded)

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
        return self.effect("child", called, lambda _: self._called(called))

    async def acall(
        self,
        program: Program,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> object:
        """Do as `call` does, for a *program* that may be asynchronous."""
        called = self._call_of(program, params, name)
        return await self.aeffect("child", called, lambda _: self._acalled(called))

    def _call_of(
        self, program: Program, params: Mapping[str, object] | None, name: str | None
    ) -> CalledRun:
        seed = self._recording.draw_seed(self._here())
        return CalledRun(program, seed, params or {}, name)

    def _called(self, called: CalledRun) -> object:
        return self._recording.port.children.conduct(self._calling(), called)

    async def _acalled(self, called: CalledRun) -> object:
        return await self._recording.port.children.aconduct(self._calling(), called)

    def _calling(self) -> Call:
        call = self._performing()
        if call is None:
            raise AssertionError("a performer performs an effect")
        return call
