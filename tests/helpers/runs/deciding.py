"""Programs that ask people, and the people who answer."""

from __future__ import annotations

from muniment import key_management
from muniment.formats.statement import Event
from muniment.keys.ed25519 import PrivateKey, load_private
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.runs.waits.inbox import PendingDecision

__all__ = [
    "answer",
    "approver",
    "asks",
    "enrol",
    "key",
    "revoke",
    "root_of",
    "signed",
]


def key(name: str) -> PrivateKey:
    """Return the private key of somebody of this *name*."""
    return PrivateKey.from_seed(name.encode().ljust(32, b".")[:32])


def root_of(ledger: Ledger) -> PrivateKey:
    """Return the root of a ledger that was made here."""
    return load_private(ledger.home.recovery_directory(ledger.id) / "root.pem")


def enrol(ledger: Ledger, name: str, *roles: str) -> PrivateKey:
    """Enrol the key of *name*, on P-256 if the name says so, and return it."""
    mine = PrivateKey.generate("p256") if name.endswith("@p256") else key(name)
    asked = key_management.request(mine, ledger.id, [*roles], name)
    key_management.enrol(ledger, asked, root_of(ledger))
    return mine


def approver(ledger: Ledger, name: str) -> PrivateKey:
    """Enrol an approver of this *name*, and return its key."""
    return enrol(ledger, name, "approver")


def revoke(ledger: Ledger, mine: PrivateKey) -> None:
    """End a key's interval."""
    entry = key_management.find_key(ledger.keys, mine.public.keyid)
    key_management.revoke(ledger, entry, "left the house", root_of(ledger))


def answer(
    ledger: Ledger, mine: PrivateKey, outcome: str = "approved", reason: str = ""
) -> Event:
    """Answer the only thing that is waited for."""
    (pending,) = ledger.pending()
    return ledger.answer(signed(pending, mine, outcome, reason))


def signed(
    pending: PendingDecision,
    mine: PrivateKey,
    outcome: str = "approved",
    reason: str = "",
) -> bytes:
    """Return a signed answer."""
    return pending.sign(mine, outcome, reason=reason, meaning="I have read it")


def asks(
    run: Run, quorum: int = 1, of: list[str] | None = None, before: int = 1
) -> object:
    """Ask between two effects, and say what came of it."""
    first = run.effect("data", before, _echo)
    decision = run.decide({"release": "1.2"}, "ship it?", quorum=quorum, of=of or ())
    told = [(one.outcome, one.reason) for one in decision.answers]
    return [first, decision.outcome, told, run.effect("data", 2, _echo)]


def _echo(request: object) -> object:
    return request
