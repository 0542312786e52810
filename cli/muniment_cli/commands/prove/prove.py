"""``muniment prove``: an event, and the proof that it is under a signed tree head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import RefusedError, UsageError
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import hint, say, show_json

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["command"]

_ENDS = "run.completed,run.failed"


@click.command(
    epilog=examples("muniment prove 7 -o event-7.tlog-proof", "muniment prove 01JD3")
)
@click.argument("what", metavar="SEQ|RUN", shell_complete=complete_runs)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the proof to this new file.",
)
@click.option("--bare", is_flag=True, help="Leave the event itself out of the proof.")
@json_option
@pass_session
def command(
    session: Session, what: str, output: Path | None, bare: bool, as_json: bool
) -> int:
    """Prove that event SEQ, or the end of RUN, is under a signed tree head.

    A run's end holds the root over all events of the run, so its proof covers them. The
    text is a C2SP tlog-proof with the event inside; `muniment verify` checks it, and so
    does any other implementation of the format.
    """
    from muniment.formats.tlog_proof import with_event

    with session.open(write=_may_sign(session)) as ledger:
        event = _event(ledger, what)
        proof = ledger.prove(event.seq)
        if not bare:
            proof = with_event(proof, event.payload, event.signature, event.key)
    text = proof.to_text()
    if output is not None:
        _write(output, text)
        hint(f"event {event.seq} ({event.type}): check it with `muniment verify`")
    if as_json:
        show_json(
            {
                "checkpoint": proof.checkpoint_note.decode(),
                "hashes": list(proof.hashes),
                "index": proof.index,
                "leaf": event.hash,
                "output": output,
                "proof": text,
                "type": event.type,
            }
        )
    else:
        say(text.rstrip("\n") if output is None else output)
    return 0


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


def _write(path: Path, text: str) -> None:
    from muniment.files.folder import write_new

    try:
        write_new(path, [text.encode()])
    except FileExistsError:
        raise UsageError(
            "there is a file already",
            rule="cli/output",
            place=str(path),
            remedy="choose another name",
        ) from None
    except OSError as error:
        raise UsageError(
            f"the proof cannot be written ({error.strerror})",
            rule="cli/output",
            place=str(path),
        ) from error
