"""``muniment export``: a run in other people's formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.keys.report_pages import is_bundle
from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.new_places import require_own_files
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import fields, show_json

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment export 01JD3 --format csv -o run.csv",
        "muniment export 01JD3 --format otlp -o run.otlp",
        "muniment export evidence.zip --format prov",
    )
)
@click.argument("run", metavar="RUN|BUNDLE", shell_complete=complete_runs)
@click.option(
    "--format",
    "form",
    required=True,
    metavar="FORMAT",
    help="csv, in-toto, otlp, parquet, prov or ro-crate, and what plugins add.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this new file; without it, to stdout.",
)
@json_option
@pass_session
def command(
    session: Session, run: str, form: str, output: Path | None, *, as_json: bool
) -> int:
    """Write RUN for other people's tools, once its record verifies.

    An export says of how many events it has a place, and of which it has none. It is a
    view: it signs nothing, and whoever gets it cannot verify it. The evidence is the
    bundle (`muniment bundle`), from which an export can be written, too. The format
    in-toto has the signed statements of `muniment attest`, which the ledger alone holds.
    """
    from muniment_plugins.evidence import open_bundle

    require_own_files()
    if is_bundle(Path(run)):
        with open_bundle(Path(run)) as bundle:
            _require_output(output, as_json=as_json)
            chosen = bundle.run
            data = bundle.plugins.exporter(form)(bundle, chosen)
    else:
        with session.open() as ledger:
            _require_output(output, as_json=as_json)
            chosen = ledger.run_id(run)
            data = _of_ledger(ledger, chosen, form)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return 0
    _write(output, data)
    if as_json:
        show_json({"bytes": len(data), "format": form, "output": output, "run": chosen})
        return 0
    told = [("export", str(output)), ("format", form), ("run", chosen)]
    fields([*told, ("size", f"{len(data):,} bytes")])
    return 0


def _require_output(output: Path | None, *, as_json: bool) -> None:
    from muniment.errors import UsageError

    if as_json and output is None:
        raise UsageError(
            "--json says what was written, and stdout gets the export",
            rule="cli/output",
            remedy="name a file with -o",
        )


def _of_ledger(ledger: Ledger, run: str, form: str) -> bytes:
    from muniment_plugins.evidence import verified_record

    exporter = ledger.plugins.exporter(form)  # a mistyped one is refused at once
    verified_record(ledger, run)
    return exporter(ledger, run)


def _write(output: Path, data: bytes) -> None:
    from muniment.errors import UsageError
    from muniment.files.folder import write_new

    try:
        write_new(output, [data])
    except OSError as error:
        raise UsageError(
            f"the export cannot be written ({error.strerror or error})",
            rule="evidence/output",
            place=str(output),
            remedy="choose another name: nothing is overwritten",
        ) from error
