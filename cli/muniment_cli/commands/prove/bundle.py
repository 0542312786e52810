"""``muniment bundle``: the evidence of one run, for people without the ledger."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import count, fields, hint, show_json
from muniment_cli.terminal.progress import progress

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment bundle 01JD3 -o evidence",
        "muniment bundle 01JD3 -o evidence.zip",
        "muniment bundle 01JD3 -o evidence --raw",
    )
)
@click.argument("run", metavar="RUN", shell_complete=complete_runs)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR|FILE.zip",
    help="Write to this new directory, or to this new zip file.",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Append no closing event, and leave out the views that it would vouch for: "
    "for somebody who reads the ledger without its keys.",
)
@json_option
@pass_session
def command(
    session: Session, run: str, output: Path, *, raw: bool, as_json: bool
) -> int:
    """Write the evidence of RUN: all its events and blobs, with proofs.

    Anybody checks it offline, with `muniment verify` or with other tools. The ledger
    gets one event, in no run, that states the digest of the bundle; the same run gives
    the same bundle again, and no further event.
    """
    from muniment_plugins.evidence import write_bundle

    with session.open(write=not raw) as ledger, progress("writing") as advance:
        written = write_bundle(ledger, run, output, raw=raw, progress=advance)
    if as_json:
        show_json(
            {
                "closed_by": written.closed_by,
                "events": written.events,
                "files": written.files,
                "manifest": written.manifest,
                "output": written.path,
                "root": written.root,
                "run": written.run,
            }
        )
        return 0
    closing = "none: a raw bundle"
    if written.closed_by is not None:
        closing = f"event {written.closed_by}"
    fields(
        [
            ("bundle", str(written.path)),
            ("run", written.run),
            ("holds", f"{count(written.events, 'event')} in {written.files} files"),
            ("MANIFEST", written.manifest),
            ("closing event", closing),
        ]
    )
    hint(
        "\nIts receivers need the fingerprint of the root from you, by another way:",
        f"muniment verify {quoted(str(written.path))} --key {written.root}",
    )
    return 0
