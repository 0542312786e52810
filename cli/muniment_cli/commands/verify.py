"""``muniment verify``: three verdicts, and everything that speaks against them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import MunimentError, UsageError
from muniment_cli.advice import quoted
from muniment_cli.context import Session, pass_session
from muniment_cli.options import examples, json_option
from muniment_cli.output import (
    Cell,
    complain,
    count,
    fields,
    hint,
    prose,
    say,
    show_json,
)
from muniment_cli.progress import progress

if TYPE_CHECKING:
    from muniment.verifier import Finding, Report

__all__ = ["command"]

_STYLES = {
    "intact": "green",
    "pinned": "green",
    "checked": "green",
    "self-asserted": "yellow",
    "unchecked": "yellow",
    "cannot tell": "bold yellow",
    "wrong": "bold red",
}


@click.command(
    epilog=examples(
        "muniment verify",
        "muniment verify copy.db --key root.pub --anchor head.note",
        "muniment verify copy.db --pin SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8",
        "muniment verify event-7.tlog-proof --key checkpoint.pub",
    )
)
@click.argument("target", required=False, metavar="[LEDGER|PROOF]")
@click.option(
    "--fast",
    is_flag=True,
    help="Skip the signatures of events that a checkpoint covers; all else is checked.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Trust this key instead of the pins: fingerprint, PEM, ssh-ed25519, a file.",
)
@click.option(
    "--pin",
    metavar="FINGERPRINT",
    help="Trust this root, whole as its keeper told you; keep it where all holds.",
)
@click.option(
    "--trust-on-first-use",
    is_flag=True,
    help="Exit 0 also where no key is pinned; it says so, and remembers.",
)
@click.option(
    "--require",
    type=click.Choice(["complete"]),
    help="Exit 3 where nothing remembers how long the log was.",
)
@click.option("--anchor", metavar="FILE", help="Checkpoint notes that you kept.")
@json_option
@pass_session
def command(  # noqa: PLR0913 - click hands over one for each option
    session: Session,
    *,
    target: str | None,
    fast: bool,
    keys: tuple[str, ...],
    pin: str | None,
    trust_on_first_use: bool,
    require: str | None,
    anchor: str | None,
    as_json: bool,
) -> int:
    """Check a ledger, or a proof from `muniment prove`, from first principles.

    Integrity: the bytes, chain, tree and signatures agree. Authenticity: the keys are
    those that you accepted. Completeness: nothing that was remembered is missing.
    Needs no network; changes no ledger. What an intact ledger looked like is kept in
    the trust home, so that the next verification notices what is missing since.
    """
    keys += () if pin is None else (_whole(pin),)
    if target is not None and _is_proof(Path(target)):
        from muniment_cli.proofs import verify_proof

        return verify_proof(
            session,
            Path(target),
            keys,
            as_json=as_json,
            trust_on_first_use=trust_on_first_use,
        )
    from muniment.verifier import verify

    place = str(session.place()) if target is None else _ledger_in(target)
    with progress("verifying") as advance:
        report = verify(
            place,
            keys=keys or None,
            anchor=anchor,
            fast=fast,
            trust_on_first_use=trust_on_first_use,
            require_complete=require == "complete",
            progress=advance,
            remember=True,
        )
    _remember(session, report, pin)
    if as_json:
        show_json(report.to_json())
    else:
        _show(report)
        named = "" if target is None else f"{quoted(target)} "
        _advise(report, complete=require == "complete", given=bool(keys), named=named)
    return report.exit_code


def _ledger_in(target: str) -> str:
    """Return *target*, or the ledger inside where it is the directory of one."""
    from muniment.opening import DEFAULT_PLACE

    for inside in (DEFAULT_PLACE, Path(DEFAULT_PLACE.name)):
        if (Path(target) / inside).is_file():
            return str(Path(target) / inside)
    return target


def _is_proof(path: Path) -> bool:
    from muniment.inclusion import HEADER

    try:
        if not path.is_file():  # what is none may wait for ever
            return False
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False  # the verifier says what is the matter with it


def _whole(fingerprint: str) -> str:
    """Refuse what is no whole fingerprint: a pin is compared, never looked up."""
    if re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", fingerprint) is None:
        raise UsageError(
            f"{fingerprint!r} is not a whole fingerprint",
            rule="key/fingerprint",
            remedy="give SHA256: and 43 characters, as `muniment init` printed them",
        )
    return fingerprint


def _remember(session: Session, report: Report, pin: str | None) -> None:
    """Pin what was to be pinned; note when a known ledger was last verified."""
    home = session.home
    ledger = report.ledger
    try:
        if pin is not None and ledger is not None and report.ok:
            home.pin(ledger, pin)
        known = ledger is not None and home.ledger_at(report.target) == ledger
        if ledger is not None and known and not report.fast and home.pins(ledger):
            home.note_verified(ledger, report.size, ok=report.ok)
    except MunimentError as error:
        complain("warning", str(error))  # the verdict stands all the same


def _show(report: Report) -> None:
    name = report.ledger or "no ledger that could be read"
    fields(
        [
            ("ledger", name),
            ("file", report.target),
            ("integrity", _verdict(report.integrity_said, _work(report))),
            ("authenticity", _verdict(report.authenticity, "")),
            ("completeness", _verdict(report.completeness, report.anchored)),
            *([("compared", said)] if (said := report.compared_said) else []),
            *([("erased", _erased(report))] if report.erased else []),
            *(("open run", run) for run in report.open_runs),
            *(("note", note) for note in report.notes),
        ]
    )
    for finding in dict.fromkeys(report.findings):
        _show_finding(finding)


def _verdict(word: str, more: str) -> Cell:
    style = _STYLES.get(word.partition(",")[0], "")
    if not more:
        return (word, style)
    return [(f"{word}; " if "," in word else f"{word:<15}", style), (more, "")]


def _work(report: Report) -> str:
    events = count(report.events_checked, "event")
    signatures = count(report.signatures_checked, "signature")
    return f"{events}, {signatures}, {report.seconds:.2f} s"


def _erased(report: Report) -> str:
    return f"{count(report.erased, 'content')}, by events that say so"


def _show_finding(finding: Finding) -> None:
    word = "cannot tell" if finding.kind == "unreadable" else finding.kind
    say()
    prose(f"✗ {word}: {finding.message} [{finding.rule}]", "bold red")
    place = f"  at {finding.place}" if finding.place else ""
    at = f"event {finding.seq}"
    if finding.seq is not None and at not in place:
        place = f"{place or '  at'} ({at})" if place else f"  at {at}"
    if place:
        prose(place)
    if finding.remedy:
        prose(f"  → {finding.remedy}")


def _unknown(report: Report) -> str:
    """Say why the end of the log was not compared, and what would help."""
    if any(note.startswith("this is an older copy") for note in report.notes):
        return "more events of this ledger are remembered than this copy has."
    return (
        "nothing here remembers how long the log was; give a note that you kept with "
        "--anchor."
    )


def _advise(report: Report, *, complete: bool, given: bool, named: str) -> None:
    """Say what is missing; *named* is how the ledger is named to a command."""
    if report.findings:
        return
    if report.authenticity == "self-asserted":
        lacking = (
            "The keys that were given are not its root"
            if given
            else "Nobody vouched for the keys of this ledger"
        )
        hint(
            f"\n{lacking}: get its root's fingerprint from whoever keeps it,",
            f"then `muniment verify {named}--pin FINGERPRINT`, or --key each time.",
        )
    elif report.completeness == "unchecked":
        word = "required, and " if complete else ""
        hint(f"\nCompleteness is {word}unchecked: {_unknown(report)}")
