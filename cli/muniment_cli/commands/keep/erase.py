"""``muniment erase``: removes blobs; the chain that proves they existed stays."""

from __future__ import annotations

import click

from muniment.errors import ErasedError
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import count, hint, say, show_json

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment erase 01JD3 --reason 'asked for by the customer'",
        "muniment erase sha256:9f86d0 --reason 'a password' --legal-basis 'GDPR 17'",
    )
)
@click.argument(
    "what", metavar="BLOB|RUN", nargs=-1, required=True, shell_complete=complete_runs
)
@click.option(
    "--reason", required=True, metavar="TEXT", help="The reason; it is recorded."
)
@click.option("--legal-basis", metavar="TEXT", help="The legal basis; it is recorded.")
@json_option
@pass_session
def command(
    session: Session,
    what: tuple[str, ...],
    reason: str,
    legal_basis: str | None,
    as_json: bool,
) -> int:
    """Erase blobs, by commitment (sha256:…) or all of a run.

    The bytes are overwritten in the file; an event says who erased what and why. The
    ledger still verifies, and says *erased* where a blob was.
    """
    with session.open(write=True) as ledger:
        wanted = [
            ledger.digest(one) if one.startswith("sha256:") else ledger.run_id(one)
            for one in what
        ]
        try:
            event = ledger.erase(wanted, reason=reason, legal_basis=legal_basis)
        except ErasedError as error:
            error.place = ", ".join(wanted)
            error.remedy = "there is nothing left to erase"
            raise
        listed = event.raw["blobs"]
        blobs = listed if isinstance(listed, list) else []
        ledger.cache.clear()
    if as_json:
        show_json({"blobs": blobs, "reason": reason, "seq": event.seq})
    else:
        say(f"erased {count(len(blobs), 'blob')}, event {event.seq}")
        hint(
            "Not reached: backups and copies, and what was given away before. A copy "
            "that is restored here",
            "loses these blobs again when it is opened for writing.",
        )
    return 0
