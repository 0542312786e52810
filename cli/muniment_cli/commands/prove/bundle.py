"""``muniment bundle``: the evidence of one run, for people without the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.new_places import require_own_files
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import count, fields, hint, show_json
from muniment_cli.terminal.progress import progress

if TYPE_CHECKING:
    from muniment_plugins.evidence import Written

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment bundle 01JD3 -o evidence",
        "muniment bundle 01JD3 -o evidence.zip",
        "muniment bundle 01JD3 -o evidence --raw",
        "muniment bundle 01JD3 -o evidence --redact --disclose 'verdict.*'",
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
@click.option(
    "--redact",
    is_flag=True,
    help="Withhold the contents of blobs, and the payloads of all events but those that "
    "verification rests on, and what marks or limits the run. What is withheld is named.",
)
@click.option(
    "--disclose",
    multiple=True,
    metavar="TYPE[/FIELD]",
    help="In a redacted bundle, disclose the payloads of this event type, or the blobs "
    "in this field of it: 'verdict.*', 'llm.completed/value'. What is private stays withheld.",
)
@json_option
@pass_session
def command(  # noqa: PLR0913 - click hands over one for each option
    session: Session,
    run: str,
    output: Path,
    *,
    raw: bool,
    redact: bool,
    disclose: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write the evidence of RUN: all its events and blobs, with proofs.

    Anybody checks it offline, with `muniment verify` or with other tools. The ledger
    gets one event, in no run, that states the digest of the bundle; the same run gives
    the same bundle again, and no further event.
    """
    from muniment.errors import UsageError
    from muniment_plugins.evidence import write_bundle

    if disclose and not redact:
        raise UsageError(
            "--disclose says what a redacted bundle shows, and this one shows everything",
            rule="cli/usage",
            remedy="add --redact",
        )
    require_own_files()
    with session.open(write=not raw) as ledger, progress("writing") as advance:
        written = write_bundle(
            ledger,
            run,
            output,
            raw=raw,
            disclose=disclose if redact else None,
            progress=advance,
        )
    _say(written, redacted=redact, as_json=as_json)
    return 0


def _say(written: Written, *, redacted: bool, as_json: bool) -> None:
    if as_json:
        show_json(
            {
                "closed_by": written.closed_by,
                "events": written.events,
                "files": written.files,
                "manifest": written.manifest,
                "output": written.path,
                "related": [*written.related],
                "root": written.root,
                "run": written.run,
                "shown": dict(written.shown),
                "withheld": dict(written.withheld),
                "withheld_blobs": written.withheld_blobs,
                "private_blobs": written.private_blobs,
            }
        )
        return
    parts = [
        ("discloses", _listed(written.shown)),
        ("withholds", _listed(written.withheld)),
        ("", f"and {count(written.withheld_blobs, 'content')}"),
    ]
    if written.private_blobs:
        told = count(written.private_blobs, "content")
        parts.append(
            ("private", f"{told} that --disclose names, and that stay withheld")
        )
    closing = "none: a raw bundle"
    if written.closed_by is not None:
        closing = f"event {written.closed_by}"
    fields(
        [
            ("bundle", str(written.path)),
            ("run", written.run),
            ("holds", f"{count(written.events, 'event')} in {written.files} files"),
            *([("rests on", _runs(written))] if written.related else []),
            ("MANIFEST", written.manifest),
            ("closing event", closing),
            *(parts if redacted else []),
        ]
    )
    hint(
        "\nIts receivers need the fingerprint of the root from you, by another way:",
        f"muniment verify {quoted(str(written.path))} --key {written.root}",
    )


def _runs(written: Written) -> str:
    """Say how many runs are in the bundle beside its own."""
    return f"{count(len(written.related), 'other run')}, which it holds, too"


def _listed(types: Mapping[str, int]) -> str:
    """Say how many payloads of which types."""
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(types.items()))
    return told or "nothing"
