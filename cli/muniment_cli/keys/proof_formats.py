"""What ``muniment prove`` writes, in each of its formats.

Rules:

- A format is what goes to its file, what readers need beside it, and what its readers do
  not look at: whoever asks for a proof is told what it does not prove.
- No proof is given out that would not verify: each is checked beside the ledger first.
- Files are new. That is looked at before anything is signed, and if one of them cannot be
  written, none is there afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import UsageError, WrongError

if TYPE_CHECKING:
    from muniment.formats.checkpoint import TlogProof
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = [
    "FORMATS",
    "HandedOut",
    "make_proof",
    "require_fitting",
    "require_new",
    "write_files",
]

FORMATS = ("tlog", "sigstore", "cose")
_BESIDE = {"--trusted-root": "sigstore", "--entry": "cose"}
"""Which format an option belongs to."""
_UNSEEN = (
    "It does not show whether the key was revoked, what came before, or whether the "
    "tree is the newest."
)


@dataclass(frozen=True, slots=True)
class HandedOut:
    """One event's proof in one format."""

    proof: TlogProof
    content: bytes
    """What `-o` writes."""
    beside: bytes | None
    """What its readers need, too: a trusted root, or the log entry."""
    said: str
    """How to check it, and what that does not show."""


def make_proof(ledger: Ledger, event: Event, form: str, *, bare: bool) -> HandedOut:
    """Return the proof of *event*; see `FORMATS`.

    Raises:
        CannotTellError: no checkpoint covers it, and none can be signed here.
        KeyRefused: a receipt needs a checkpoint key, and none is here.
        WrongError: the ledger was changed: the proof would not verify.

    """
    try:
        if form == "sigstore":
            return _sigstore(ledger, event)
        if form == "cose":
            return _cose(ledger, event)
        return _tlog(ledger, event, bare=bare)
    except WrongError as error:
        error.remedy = "the ledger was changed: run `muniment verify`"
        raise


def _tlog(ledger: Ledger, event: Event, *, bare: bool) -> HandedOut:
    from muniment.formats.tlog_proof import with_event

    proof = ledger.prove(event.seq)
    whole = with_event(proof, event.payload, event.signature, event.key)
    ledger.check_proof(whole.to_text().encode(), place=f"event {event.seq}")
    if not bare:
        proof = whole
    return HandedOut(
        proof, proof.to_text().encode(), None, "check it with `muniment verify`"
    )


def _sigstore(ledger: Ledger, event: Event) -> HandedOut:
    from muniment.keys.ed25519 import PublicKey
    from muniment_plugins.evidence import sigstore_proof

    found = sigstore_proof(ledger, event.seq)
    said = (
        "check it with cosign 3, the trusted root, and the key of "
        f"`muniment keys export --format pem {PublicKey(event.key).keyid}`. {_UNSEEN}"
    )
    return HandedOut(found.proof, found.bundle, found.trusted_root, said)


def _cose(ledger: Ledger, event: Event) -> HandedOut:
    from muniment_plugins.evidence import event_entry

    proof = ledger.prove(event.seq)
    receipt = ledger.cose_receipt(event.seq, proof.checkpoint_note)
    said = (
        "check it with the log entry, and the key of `muniment keys export --format pem "
        "--role checkpoint`. It shows that the entry is in the tree; what the event says, "
        f"only its envelope does. {_UNSEEN}"
    )
    return HandedOut(proof, receipt, event_entry(event), said)


def require_fitting(
    form: str,
    output: Path | None,
    beside: dict[str, Path | None],
    *,
    bare: bool,
    as_json: bool,
) -> None:
    """Refuse options of another format, one file for two things, and printed bytes.

    Args:
        form: one of `FORMATS`.
        output: where the proof goes; None to print it.
        beside: option → the file it names, if it was given.
        bare: whether the event is to be left out.
        as_json: whether a document is printed, which has the proof in any case.

    Raises:
        UsageError: ``cli/options``, or ``cli/output``.

    """
    given = [name for name, path in beside.items() if path is not None]
    wrong = [name for name in given if _BESIDE[name] != form]
    if bare and form != "tlog":
        wrong.append("--bare")
    if wrong:
        raise UsageError(
            f"{wrong[0]} is not for --format {form}", rule="cli/options", place=wrong[0]
        )
    if output is not None and output in beside.values():
        raise UsageError(
            "two things cannot go to one file",
            rule="cli/output",
            place=str(output),
            remedy="give each a file of its own",
        )
    if form == "cose" and output is None and not as_json:
        raise UsageError(
            "a receipt is bytes, not text",
            rule="cli/output",
            place="--format cose",
            remedy="give a file with -o, or --json for hexadecimal",
        )


def require_new(paths: Iterable[Path | None]) -> None:
    """Refuse files that are there already, and those in folders that are not.

    Raises:
        UsageError: ``cli/output``.

    """
    for path in paths:
        if path is None:
            continue
        if path.exists() or path.is_symlink():
            raise _taken(path)
        if not path.parent.is_dir():
            raise UsageError(
                "there is no folder for it",
                rule="cli/output",
                place=str(path),
                remedy="make the folder, or choose another",
            )


def write_files(files: dict[Path, bytes]) -> None:
    """Write each of *files*, which must be new, or none of them.

    Raises:
        UsageError: there is one already, or it cannot be written.

    """
    with ExitStack() as begun:
        for path, content in files.items():
            _write(path, content)
            begun.callback(path.unlink, missing_ok=True)
        begun.pop_all()


def _write(path: Path, content: bytes) -> None:
    from muniment.files.folder import write_new

    try:
        write_new(path, [content])
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise UsageError(
            f"the proof cannot be written ({error.strerror})",
            rule="cli/output",
            place=str(path),
        ) from error


def _taken(path: Path) -> UsageError:
    return UsageError(
        "there is a file already",
        rule="cli/output",
        place=str(path),
        remedy="choose another name",
    )
