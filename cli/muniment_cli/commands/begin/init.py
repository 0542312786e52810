"""``muniment init``: a ledger, its keys, and what to do with them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import RefusedError, UsageError
from muniment.places import DEFAULT_PLACE, discover, sqlite_path
from muniment.trust.ledger_location import rememberable
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.new_places import require_own_files, require_parent
from muniment_cli.shell.options import ALGORITHMS, examples, json_option
from muniment_cli.terminal.output import fields, hint, show_json
from muniment_cli.views.samples import Sample

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["command"]


@click.command(
    epilog=examples(
        "muniment init",
        "muniment init --example flow",
        "muniment init new --continues old/.muniment/ledger.db --reason 'restored'",
    )
)
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option(
    "--continues",
    metavar="OLD",
    help="The ledger that this one succeeds: its path, or its id.",
)
@click.option("--reason", metavar="TEXT", help="Why a successor is needed.")
@click.option(
    "--signer", metavar="URI", help="Sign events with this key: file:PATH, env:NAME."
)
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
    default="ed25519",
    show_default=True,
    help="What kind of keys are made; checkpoints are signed by Ed25519 always.",
)
@click.option(
    "--blobs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where large blobs go, instead of beside the ledger.",
)
@click.option(
    "--example",
    metavar="NAME",
    help="Also write an example to try: flow, or model.",
)
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click passes them by name
    session: Session,
    directory: Path | None,
    continues: str | None,
    reason: str | None,
    signer: str | None,
    algorithm: str,
    blobs: Path | None,
    example: str | None,
    as_json: bool,
) -> int:
    """Make a ledger and its keys in DIRECTORY/.muniment (default: here).

    DIRECTORY is made too, but nothing above it. Prints the fingerprint for others to
    pin, and where the recovery keys are: move them somewhere safe. The files of an
    example are written into DIRECTORY, never over others; a ledger that is there already
    stays as it is.
    """
    from muniment.copies.successor import predecessor
    from muniment.ledger import Ledger

    if (continues is None) != (reason is None):
        raise UsageError(
            "--continues and --reason belong together",
            rule="continues/reason",
            remedy="name the old ledger and say why it has a successor",
        )
    past = None
    if continues is not None:
        past = predecessor(continues, reason or "", session.home)
    place = _place(session, directory)
    require_own_files()
    require_parent(_made(place, directory))
    sample = None if example is None else Sample.called(example, directory, place)
    bare = (continues, signer, blobs) == (None, None, None)
    if sample is not None and bare and place.exists():
        sample.write()
        _tell_files(place, sample, as_json=as_json)
        return 0
    try:
        with _contents_in(session, place, blobs):
            ledger = Ledger.create(
                place, signer=signer, continues=past, algorithm=algorithm
            )
    except RefusedError as error:
        if error.rule == "ledger/exists":
            error.remedy = (
                f"`muniment --ledger {place} status` looks at it; muniment never "
                "writes over a ledger"
            )
        raise
    with ledger:
        ledger.checkpoint()
        if sample is not None:
            sample.write()
        _tell(ledger, sample, as_json=as_json)
    return 0


@contextmanager
def _contents_in(session: Session, place: Path, folder: Path | None) -> Generator[None]:
    """Tell the trust home where large blobs go; undo that if no ledger is made."""
    if folder is None:
        yield
        return
    require_parent(folder)
    for one in (place, folder):  # before anything is made
        rememberable(one)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"large blobs cannot be kept there ({error.strerror})",
            rule="blob/directory",
            place=str(folder),
            remedy="name a directory that can be written",
        ) from None
    before = session.home.blobs_of(place)
    session.home.keep_blobs(place, folder)
    try:
        yield
    except BaseException:
        session.home.keep_blobs(place, before)
        raise


def _place(session: Session, directory: Path | None) -> Path:
    if directory is not None:
        return (
            directory
            if directory.suffix.lower() == ".db"
            else directory / DEFAULT_PLACE
        )
    if session.ledger_url:
        return sqlite_path(session.ledger_url)
    named = None if session.merely_found else discover()
    return named or Path.cwd() / DEFAULT_PLACE


def _made(place: Path, directory: Path | None) -> Path:
    """Return the uppermost of what may have to be made for the ledger *place*."""
    if directory not in {None, place}:
        return place.parents[1]
    return place.parent if place.parent.name == DEFAULT_PLACE.parent.name else place


def _tell(ledger: Ledger, sample: Sample | None, *, as_json: bool) -> None:
    born = ledger.born
    if born is None:  # it was opened, not made; create() would have raised
        return
    recovery = [born.recovery / name for name in ("root.pem", "next-root.pem")]
    continued = ledger.event(0).raw.get("continues")
    if as_json:
        show_json(
            {
                "continues": continued,
                "fingerprint": born.fingerprint,
                "ledger": born.ledger_id,
                "path": ledger.path,
                "recovery": recovery,
                **({} if sample is None else sample.to_json()),
            }
        )
        return
    fields(
        [
            ("made", str(ledger.path)),
            ("ledger", born.ledger_id),
            *_succession(continued),
            ("pin", (born.fingerprint, "bold")),
            ("recovery", str(recovery[0])),
            ("", str(recovery[1])),
            *([] if sample is None else sample.rows()),
        ]
    )
    hint(
        "\nGive the fingerprint to everybody who verifies: "
        f"`muniment keys trust {born.fingerprint}`.",
        "Move both recovery files off this machine, to two places: whoever has the "
        "root enrols keys,",
        "and the next root is what replaces a lost one.",
    )
    if sample is not None:
        sample.say_commands()


def _tell_files(place: Path, sample: Sample, *, as_json: bool) -> None:
    """Say that the example is beside a ledger that was there."""
    if as_json:
        show_json({"path": place, **sample.to_json()})
        return
    fields([("is there", str(place)), *sample.rows()])
    sample.say_commands()


def _succession(continued: object) -> list[tuple[str, str]]:
    if not isinstance(continued, dict):
        return []
    return [("continues", f"{continued['ledger']} ({continued['reason']})")]
