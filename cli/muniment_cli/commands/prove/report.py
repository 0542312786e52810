"""``muniment report``: one page about a run, for a person who was sent the evidence."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.keys.report_pages import is_bundle
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import count, fields, hint, show_json

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment report 01JD3 -o report.html",
        "muniment report 01JD3 -o report.md",
        "muniment report evidence.zip -o report.html",
    )
)
@click.argument("run", metavar="RUN|BUNDLE", shell_complete=complete_runs)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.html|FILE.md",
    help="Write to this new file; its ending says in which form.",
)
@json_option
@pass_session
def command(session: Session, run: str, output: Path, *, as_json: bool) -> int:
    """Write a page about RUN for people: claims, verdicts, measurements, proof.

    The page needs nothing else: no script, no network. Every value of the record on it
    names the event and the place in it that it comes from. It reads the ledger up to its
    newest checkpoint; the same run and checkpoint give the same page.

    From an evidence bundle it is written without a ledger, once the bundle verifies. What
    a bundle does not hold is said on the page.
    """
    from muniment_plugins.evidence import open_bundle, write_report

    if is_bundle(Path(run)):
        with open_bundle(Path(run)) as bundle:
            written = write_report(bundle, bundle.run, output)
    else:
        with session.open() as ledger:
            written = write_report(ledger, run, output)
    if as_json:
        show_json(
            {
                "bytes": written.size,
                "checkpoint": written.checkpoint,
                "output": written.path,
                "run": written.run,
            }
        )
        return 0
    fields(
        [
            ("report", str(written.path)),
            ("run", written.run),
            ("checkpoint", f"over {count(written.checkpoint, 'event')}"),
        ]
    )
    if is_bundle(Path(run)):
        return 0
    hint(
        "\nThe page is for reading; the proof is the bundle:",
        f"muniment bundle {written.run} -o evidence.zip",
    )
    return 0
