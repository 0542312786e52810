"""``muniment report``: one page about a run, for a person who was sent the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.keys.report_pages import is_bundle
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.new_places import require_own_files
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import count, fields, hint, show_json

if TYPE_CHECKING:
    from muniment_plugins.evidence import Reported

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment report 01JD3 -o report.html",
        "muniment report 01JD3 -o report.md",
        "muniment report evidence.zip -o report.html",
        "muniment report 01JD3 -o report.html --evidence",
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
@click.option(
    "--evidence",
    is_flag=True,
    help="Let the page carry its bundle, and a program that verifies it in a browser.",
)
@json_option
@pass_session
def command(
    session: Session, run: str, output: Path, *, evidence: bool, as_json: bool
) -> int:
    """Write a page about RUN for people: claims, verdicts, measurements, proof.

    The page needs nothing else: no script, no network. Every value of the record on it
    names the event and the place in it that it comes from. It reads the ledger up to its
    newest checkpoint; the same run and checkpoint give the same page.

    From an evidence bundle it is written without a ledger, once the bundle verifies. What
    a bundle does not hold is said on the page.

    With --evidence the HTML page shows the report of the bundle, which is in it, and a
    browser verifies it without a network. For a RUN the bundle is written first, which
    takes the writer's key, and appends the event that closes it.
    """
    require_own_files()
    written = (
        _carrying(session, run, output) if evidence else _plain(session, run, output)
    )
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
    if written.private:
        hint(
            f"\nIts evidence is whole: {count(written.private, 'private content')} of the "
            "run can be read out of it."
        )
    if evidence:
        hint(
            "\nWhoever gets it verifies it: open it, or",
            f"muniment verify {output.name}",
        )
    if evidence or is_bundle(Path(run)):
        return 0
    hint(
        "\nThe page is for reading; the proof is the bundle:",
        f"muniment bundle {written.run} -o evidence.zip",
    )
    return 0


def _plain(session: Session, run: str, output: Path) -> Reported:
    from muniment_plugins.evidence import open_bundle, write_report

    if is_bundle(Path(run)):
        with open_bundle(Path(run)) as bundle:
            return write_report(bundle, bundle.run, output)
    with session.open() as ledger:
        return write_report(ledger, run, output)


def _carrying(session: Session, run: str, output: Path) -> Reported:
    from muniment_plugins.evidence import write_carrying, write_carrying_run

    if is_bundle(Path(run)):
        return write_carrying(Path(run), output)
    with session.open(write=True) as ledger:
        return write_carrying_run(ledger, run, output)
