"""The ledger: the front door, where store, runs, hooks and trust are wired together.

    ledger = muniment.open(create=True)
    ledger.append("note.added", {"text": "reviewed"})
    done = ledger.execute(triage, params={"ticket": "…"})
    report = replay(ledger, done.run_id)

Rules:

- This is the only composition root. It holds no state of its own beside the store's
  position: everything that it answers is read from events.
- ``append`` is durable when it returns. Types that tell what runs, keys and effects did
  are written by those alone.
- A ledger that was merely found is read, never appended to, unless its root is pinned.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn, Self, TypeVar

from muniment import executing
from muniment.canonical import JsonValue
from muniment.database import sqlite_path
from muniment.errors import UsageError
from muniment.event_types import EventType
from muniment.events import Event, SubjectLike, about
from muniment.executing import Done
from muniment.genesis import Born, create_ledger
from muniment.imports import refuse_importing
from muniment.kinds import EffectKind
from muniment.lanes import Lane
from muniment.opening import Opened, create_path, open_store
from muniment.plugins import Plugins
from muniment.port import LedgerPort
from muniment.programs import Program
from muniment.reader import Reader
from muniment.resuming import Resumption
from muniment.runs import Recording
from muniment.signing import Signer
from muniment.trust import TrustHome

__all__ = ["Ledger"]

V = TypeVar("V")


class Ledger(Reader):
    """An append-only, signed, hash-chained record. Make one with `create` or `open`."""

    def __init__(self, opened: Opened, plugins: Plugins, actor: str) -> None:
        super().__init__(opened, LedgerPort(opened.store, plugins, actor))
        self.born: Born | None = None
        """How the ledger was made, when this object made it."""

    @classmethod
    def create(  # noqa: PLR0913 - keyword-only, each with a default
        cls,
        path: str | os.PathLike[str],
        *,
        signer: Signer | str | None = None,
        anchor: str | os.PathLike[str] | None = None,
        home: TrustHome | str | os.PathLike[str] | None = None,
        continues: Mapping[str, JsonValue] | None = None,
        plugins: Iterable[str] | Plugins | None = None,
        actor: str = "local",
    ) -> Self:
        """Make a ledger at *path* and open it.

        Args:
            path: the file to make; its directory is made too.
            signer: signs events instead of a fresh key; a `Signer` or its URI.
            anchor: a file that every checkpoint is appended to as well.
            home: the trust home; ``MUNIMENT_HOME`` or the platform's without it.
            continues: id, last checkpoint and reason, when this succeeds a ledger.
            plugins: the names of those that may load; all that are installed without.
            actor: who writes, as events claim it.

        Raises:
            RefusedError: something is there already, or was remembered there.

        """
        trust = _trust(home)
        active = plugins if isinstance(plugins, Plugins) else Plugins(plugins)
        writer = active.signer(signer) if isinstance(signer, str) else signer
        create_path(path)  # refuses names that no ledger may have
        born = create_ledger(
            sqlite_path(path), trust, writer=writer, continues=continues, actor=actor
        )
        ledger = cls.open(
            path, signer=writer, anchor=anchor, home=trust, plugins=active, actor=actor
        )
        ledger.born = born
        return ledger

    @classmethod
    def open(  # noqa: PLR0913 - keyword-only, each with a default
        cls,
        url: str | os.PathLike[str],
        *,
        signer: Signer | str | None = None,
        anchor: str | os.PathLike[str] | None = None,
        readonly: bool = False,
        timeout: float = 60.0,
        home: TrustHome | str | os.PathLike[str] | None = None,
        plugins: Iterable[str] | Plugins | None = None,
        actor: str = "local",
    ) -> Self:
        """Open the ledger at *url*; without a key it is read-only.

        Args:
            url: a path, or ``sqlite:///PATH``.
            signer: signs instead of the kept key; a `Signer` or its URI.
            anchor: a file that every checkpoint is appended to as well.
            readonly: refuse to write, whatever keys there are.
            timeout: seconds to wait for another writer before ``store/locked``.
            home: the trust home; ``MUNIMENT_HOME`` or the platform's without it.
            plugins: the names of those that may load; all that are installed without.
            actor: who writes, as events claim it.

        Raises:
            StoreError: it is missing, unreadable or not a ledger.
            WrongError: another ledger is known at this place, or its schema changed.

        """
        active = plugins if isinstance(plugins, Plugins) else Plugins(plugins)
        writer = active.signer(signer) if isinstance(signer, str) else signer
        opened = open_store(
            url,
            _trust(home),
            writer=writer,
            anchor=anchor,
            readonly=readonly,
            timeout=timeout,
        )
        return cls(opened, active, actor)

    def __repr__(self) -> str:
        """Say which file it is; works when closed, too."""
        return f"<Ledger {str(self.path)!r}>"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: each process opens the file itself."""
        raise UsageError(
            "an open ledger is not handed to another process",
            rule="ledger/process",
            place=str(self.path),
            remedy=f"open it there: Ledger.open({str(self.path)!r})",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Sign a last checkpoint where there is something new, and let go."""
        self._store.close()

    # -- writing -------------------------------------------------------------------

    def append(
        self,
        type: str,  # noqa: A002 - the word that everybody looks for
        data: Mapping[str, object],
        *,
        subject: Iterable[SubjectLike] = (),
        tenant: str = "default",
        actor: str | None = None,
    ) -> Event:
        """Append one event; durable when this returns.

        Args:
            type: a registered type, such as ``note.added``.
            data: its data, as the type's model says.
            subject: names and ``sha256:`` digests of what the event is about.
            tenant: whose event it is.
            actor: who says so, where not the ledger's actor.

        Raises:
            RefusedError: the data is not what the type says, or a plugin refuses.
            StoreError: the database is locked, full, read-only or corrupt.

        """
        draft = self._port.draft(type, data, about(subject), tenant, actor)
        return self._port.write([draft], None)[0]

    def append_many(
        self, events: Iterable[tuple[str, Mapping[str, object]]]
    ) -> list[Event]:
        """Append several events in one durable commit, all or none."""
        drafts = [self._port.draft(kind, data) for kind, data in events]
        return self._port.write(drafts, None) if drafts else []

    def register(self, declaration: EventType | EffectKind | type) -> None:
        """Add an event type, an effect kind, or a class whose instances are values."""
        self._port.register(declaration)

    def checkpoint(self) -> bytes | None:
        """Sign the tree of all events and anchor it; the note, in C2SP form."""
        refuse_importing()
        return self._store.checkpoint()

    def erase(
        self, what: str | Sequence[str], *, reason: str, legal_basis: str | None = None
    ) -> Event:
        """Erase contents: commitments, or all contents of a run.

        Raises:
            UsageError: there is no such content or run.

        """
        refs = [what] if isinstance(what, str) else list(what)
        return self._port.erase(refs, reason, legal_basis, self._home)

    # -- runs ----------------------------------------------------------------------

    def execute(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        program: Program,
        *,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        mode: Literal["live", "dry"] = "live",
        seed: str | None = None,
    ) -> Done:
        """Run *program* and record it; what it raised is in the result.

        Raises:
            KeyboardInterrupt: as it came; the run can be resumed.

        """
        executing.refuse_async(program)
        settled, recording = self._port.start(
            program, params, name, labels, tenant, mode, seed
        )
        return self._conduct(recording, program, settled)

    async def aexecute(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        program: Program,
        *,
        params: Mapping[str, object] | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        mode: Literal["live", "dry"] = "live",
        seed: str | None = None,
    ) -> Done:
        """Do as `execute` does with an async *program*."""
        settled, recording = self._port.start(
            program, params, name, labels, tenant, mode, seed
        )
        return await self._aconduct(recording, program, settled)

    def run(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        seed: str | None = None,
    ) -> RunContext:
        """Open a run for the body of a ``with`` or ``async with`` statement."""
        _, recording = self._port.start(None, None, name, labels, tenant, "live", seed)
        return RunContext(self, recording)

    def resume(
        self,
        run: str,
        program: Program | None = None,
        *,
        take_over: bool = False,
        decide: Callable[[str, object], str] | None = None,
    ) -> Done:
        """Go on with a run that was cut off; completed effects are not performed again.

        Args:
            run: the run's id, or a unique prefix.
            program: where it cannot be imported by its recorded name.
            take_over: although its owner seems to be alive.
            decide: says ``repeat`` or ``refuse`` for an effect whose outcome is unknown.

        Raises:
            RefusedError: the run is complete, owned by somebody alive, or in doubt.

        """
        going = Resumption.take(self, self.run_id(run), program, take_over, decide)
        return self._conduct(going.recording, going.program, going.params)

    async def aresume(
        self,
        run: str,
        program: Program | None = None,
        *,
        take_over: bool = False,
        decide: Callable[[str, object], str] | None = None,
    ) -> Done:
        """Do as `resume` does with an async program."""
        going = Resumption.take(
            self, self.run_id(run), program, take_over, decide, awaits=True
        )
        return await self._aconduct(going.recording, going.program, going.params)

    def _conduct(
        self, recording: Recording, program: Program, params: Mapping[str, object]
    ) -> Done:
        with self.ending(recording) as ending:
            value = executing.call(recording, program, params)
            ending.done = executing.finish(recording, value, ending.began)
        return ending.result

    async def _aconduct(
        self, recording: Recording, program: Program, params: Mapping[str, object]
    ) -> Done:
        with self.ending(recording) as ending:
            value = await executing.acall(recording, program, params)
            ending.done = executing.finish(recording, value, ending.began)
        return ending.result

    def export(self, run: str, format: str) -> bytes:  # noqa: A002 - as in `--format`
        """Return *run* in a *format* that a plugin writes.

        Raises:
            UsageError: no active plugin writes it, or there is no such run.

        """
        return self.plugins.exporter(format)(self, self.run_id(run))

    @contextmanager
    def ending(self, recording: Recording) -> Generator[executing.Ending]:
        """Write how the run ended that the body conducts; for the kernel's own use."""
        ending = executing.Ending(time.monotonic())
        try:
            yield ending
        except BaseException as error:  # noqa: BLE001 - every end is an event
            ending.done = executing.stop(recording, error, ending.began)
        finally:
            if recording.owner.is_here:
                self._port.left.add(recording.run_id)
                if recording.writes:
                    self._store.checkpoint()


class RunContext:
    """An open run as a context manager; the body's exception is its failure."""

    def __init__(self, ledger: Ledger, recording: Recording) -> None:
        self._ledger = ledger
        self._recording = recording
        self._lane = Lane(recording)
        self._began = time.monotonic()

    def __enter__(self) -> Lane:
        return self._lane.__enter__()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lane.__exit__(exc_type, exc, traceback)
        with self._ledger.ending(self._recording) as ending:
            if exc is not None:
                raise exc
            ending.done = executing.finish(self._recording, None, self._began)
        if exc is None:
            ending.result.raise_failure()

    async def __aenter__(self) -> Lane:
        return self.__enter__()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(exc_type, exc, traceback)


def _trust(home: TrustHome | str | os.PathLike[str] | None) -> TrustHome:
    if isinstance(home, TrustHome):
        return home
    return TrustHome(None if home is None else Path(home))
