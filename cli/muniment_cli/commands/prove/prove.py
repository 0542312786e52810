"""``muniment prove``: an event, and the proof that it is under a signed tree head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import RefusedError
from muniment_cli.keys.proof_formats import (
    FORMATS,
    HandedOut,
    make_proof,
    require_fitting,
    require_new,
    write_files,
)
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import hint, say, show_json

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["command"]

_ENDS = "run.completed,run.failed"
_file = click.Path(path_type=Path, dir_okay=False)


@click.command(
    epilog=examples(
        "muniment prove 7 -o event-7.tlog-proof",
        "muniment prove 01JD3",
        "muniment prove 7 --format sigstore -o event-7.sigstore.json "
        "--trusted-root trusted_root.json",
        "muniment prove 7 --format cose -o event-7.cose --entry event-7.entry",
    )
)
@click.argument("what", metavar="SEQ|RUN", shell_complete=complete_runs)
@click.option("-o", "--output", type=_file, help="Write the proof to this new file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="tlog",
    show_default=True,
    help="C2SP tlog-proof, Sigstore bundle v0.3, or COSE receipt (RFC 9942).",
)
@click.option(
    "--bare", is_flag=True, help="Leave the event itself out of a tlog-proof."
)
@click.option(
    "--trusted-root",
    type=_file,
    metavar="FILE",
    help="Write the trusted root for a Sigstore bundle to this new file.",
)
@click.option(
    "--entry",
    type=_file,
    metavar="FILE",
    help="Write the log entry for a COSE receipt to this new file.",
)
@json_option
@pass_session
def command(  # noqa: PLR0913 - each option of the command line
    session: Session,
    what: str,
    *,
    output: Path | None,
    form: str,
    bare: bool,
    trusted_root: Path | None,
    entry: Path | None,
    as_json: bool,
) -> int:
    """Prove that event SEQ, or the end of RUN, is under a signed tree head.

    A run's end holds the root over all events of the run, so its proof covers them. A
    C2SP tlog-proof has the event inside; `muniment verify` checks it, and so does any
    other implementation of the format. The other formats are for other people's tools.
    """
    beside = {"--trusted-root": trusted_root, "--entry": entry}
    require_fitting(form, output, beside, bare=bare, as_json=as_json)
    require_new([output, trusted_root, entry])
    with session.open(write=_may_sign(session)) as ledger:
        event = _event(ledger, what)
        made = make_proof(ledger, event, form, bare=bare)
    other = trusted_root or entry
    files = {} if output is None else {output: made.content}
    if other is not None and made.beside is not None:
        files[other] = made.beside
    write_files(files)
    if files:
        hint(f"event {event.seq} ({event.type}): {made.said}")
    if as_json:
        show_json(_document(event, made, form, output, other))
    else:
        say(made.content.decode().rstrip("\n") if output is None else output)
    return 0


def _document(
    event: Event, made: HandedOut, form: str, output: Path | None, other: Path | None
) -> dict[str, object]:
    content = made.content if form == "cose" else made.content.decode()
    return {
        "beside": other,
        "checkpoint": made.proof.checkpoint_note.decode(),
        "format": form,
        "hashes": list(made.proof.hashes),
        "index": made.proof.index,
        "leaf": event.hash,
        "output": output,
        "proof": content,
        "type": event.type,
    }


def _may_sign(session: Session) -> bool:
    """Tell whether to open for writing, so that a checkpoint can be signed."""
    if not session.merely_found:
        return True
    with session.open() as ledger:
        return bool(ledger.home.pins(ledger.id))


def _event(ledger: Ledger, what: str) -> Event:
    if what.isdecimal() and len(what) < 20:  # noqa: PLR2004 - a run id has 26 letters
        return ledger.event(int(what))
    run = ledger.run_id(what)
    for event in ledger.events(run=run, type=_ENDS, order="desc", limit=1):
        return event
    raise RefusedError(
        "the run has no end yet, so nothing states what belongs to it",
        rule="proof/open-run",
        place=f"run {run}",
        remedy="prove single events by number, or `muniment resume` it first",
    )
