"""The ledger: the facade, where store, runs, hooks and trust are wired together.

    ledger = muniment.open(create=True)
    ledger.append("note.added", {"text": "reviewed"})
    done = ledger.execute(triage, params={"ticket": "…"})

Rules:

- This is the only composition root; every answer is read from events.
- ``append`` is durable when it returns. Only runs, keys and effects write the types
  that state what they did.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self, TypeVar

from muniment.encoding.canonical import JsonValue, parse_canonical
from muniment.errors import UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import EventType
from muniment.formats.dsse import Signer, encode_base64
from muniment.formats.statement import (
    Event,
    SubjectLike,
    about,
    predicate_statement,
)
from muniment.gates import LedgerPort
from muniment.ledger_runs import LedgerRuns
from muniment.places import sqlite_path
from muniment.plugins import Plugins
from muniment.programs.import_guard import refuse_importing
from muniment.storage.create import Born, create_ledger
from muniment.storage.open import Opened, create_path, open_store
from muniment.storage.prove import cose_receipt, sign_statement
from muniment.trust.home import TrustHome

__all__ = ["Ledger"]

V = TypeVar("V")


class Ledger(LedgerRuns):
    """An append-only, signed, hash-chained record. Make one with `create` or `open`."""

    def __init__(self, opened: Opened, plugins: Plugins, actor: str) -> None:
        super().__init__(opened, LedgerPort(opened.store, plugins, actor))
        self.born: Born | None = None
        """How the ledger was made, if this object made it."""

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
        algorithm: str = "ed25519",
    ) -> Self:
        """Make a ledger at *path* and open it.

        Args:
            path: the file to make; its directory is made too.
            signer: signs events instead of a fresh key; a `Signer` or its URI.
            anchor: a file that every checkpoint is appended to as well.
            home: the trust home; ``MUNIMENT_HOME`` or the platform's without it.
            continues: id, last checkpoint and reason, if this ledger succeeds another.
            plugins: the names of plugins that may load; by default all installed ones.
            actor: the writer that events claim.
            algorithm: of the fresh keys, ``ed25519`` or ``p256``; the key of checkpoints
                is Ed25519 always.

        Raises:
            RefusedError: something exists there already, or is remembered there.

        """
        trust = _trust(home)
        active = plugins if isinstance(plugins, Plugins) else Plugins(plugins)
        writer = active.signer(signer) if isinstance(signer, str) else signer
        create_path(path)  # refuses names that no ledger may have
        born = create_ledger(
            sqlite_path(path),
            trust,
            writer=writer,
            continues=continues,
            actor=actor,
            algorithm=algorithm,
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
            plugins: the names of plugins that may load; by default all installed ones.
            actor: the writer that events claim.

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
        try:
            return cls(opened, active, actor)
        except BaseException:
            opened.store.close()
            raise

    def __repr__(self) -> str:
        """Name the file; works after `close`, too."""
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
        """Sign a last checkpoint if there are new events, and close the file."""
        self._store.close()

    # -- writing -------------------------------------------------------------------

    def append(
        self,
        type: str,  # noqa: A002 - the word that everybody looks for
        data: Mapping[str, object],
        *,
        subject: Iterable[SubjectLike] = (),
        series: Iterable[str] = (),
        tenant: str = "default",
        actor: str | None = None,
    ) -> Event:
        """Append one event; durable when this returns.

        Args:
            type: a registered type, such as ``note.added``.
            data: its data, as the type's model declares it.
            subject: names and ``sha256:`` digests of what the event is about.
            series: keys of the series that count the event.
            tenant: the owner of the event.
            actor: the claimed writer, if not the ledger's actor.

        Raises:
            RefusedError: the data does not fit the type, or a plugin refuses.
            StoreError: the database is locked, full, read-only or corrupt.

        """
        draft = self._port.draft(type, data, about(subject), tenant, actor, series)
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

    def checkpoint(self, *, publish: bool = False) -> bytes | None:
        """Sign the tree of all events and anchor it; return the note, in C2SP form.

        With *publish*, the anchors get it again even if it was signed before.
        """
        refuse_importing()
        note = self._store.checkpoint()
        if publish and note is not None:
            self._store.published(note)
        return note

    def cose_receipt(self, seq: int, note: bytes | None = None) -> bytes:
        """Return the COSE receipt (RFC 9942) of event *seq*, signed by the log.

        To whoever has the event's log entry and the log's key it proves that the entry
        is in the tree of a checkpoint: *note*, or without it the newest one.

        Raises:
            UsageError: there is no such event, or *note* does not cover it.
            KeyRefused: no checkpoint key is here.
            CannotTellError: no checkpoint covers it, or it is the only event.
            WrongError: the ledger's own record of the event does not verify, or *note*
                is not the ledger's.

        """
        refuse_importing()
        return cose_receipt(self._store, seq, note)

    def append_statement(
        self,
        type: str,  # noqa: A002 - as `Event.type`, which it becomes
        predicate_type: str,
        predicate: Mapping[str, JsonValue],
        subject: Iterable[SubjectLike],
    ) -> Event:
        """Sign an in-toto statement in a predicate of others, and append it as an event.

        The event has the data ``statement``, ``keyid`` and ``signature``, and is about
        what the statement is about. Nobody gets the signature before it is recorded.
        The member ``muniment`` of the predicate names this ledger, whatever it is given.

        Args:
            type: a registered type of event whose data are these three.
            predicate_type: one of `muniment.formats.statement.PREDICATES`.
            predicate: its members.
            subject: names and ``sha256:`` digests of what the statement is about.

        Raises:
            UsageError: the predicate is none of these, or it is about nothing.
            KeyRefused: no key here signs events, or none that may.

        """
        refuse_importing()
        given, subjects = predicate.get("muniment"), about(subject)
        own = {**(given if isinstance(given, dict) else {}), "ledger": self.id}
        whole: dict[str, JsonValue] = {**predicate, "muniment": own}
        payload = predicate_statement(predicate_type, whole, subjects)
        signed = sign_statement(self._store, payload)
        data = {
            "statement": parse_canonical(payload),
            "keyid": signed.keyid,
            "signature": encode_base64(signed.signature),
        }
        return self.append(type, data, subject=subjects)

    def erase(
        self, what: str | Sequence[str], *, reason: str, legal_basis: str | None = None
    ) -> Event:
        """Erase blobs: by commitment, or all blobs of a run.

        Raises:
            UsageError: there is no such blob or run.

        """
        refs = [what] if isinstance(what, str) else list(what)
        return self._port.erase(refs, reason, legal_basis, self._home)

    def export(self, run: str, format: str) -> bytes:  # noqa: A002 - as in `--format`
        """Return *run* in a *format* that a plugin writes.

        Raises:
            UsageError: no active plugin writes it, or there is no such run.

        """
        return self.plugins.exporter(format)(self, self.run_id(run))


def _trust(home: TrustHome | str | os.PathLike[str] | None) -> TrustHome:
    if isinstance(home, TrustHome):
        return home
    return TrustHome(None if home is None else Path(home))
