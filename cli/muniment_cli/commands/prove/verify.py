"""``muniment verify``: three verdicts, and everything that contradicts them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muniment.errors import MunimentError, UsageError
from muniment_cli.keys.evidence_forms import KNOWN, is_unknown
from muniment_cli.keys.report_pages import (
    PageFile,
    PageVerdict,
    compared,
    is_bundle,
    is_page,
    ledger_in,
    page_at,
)
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import (
    Cell,
    complain,
    count,
    fields,
    hint,
    prose,
    say,
    show_json,
)
from muniment_cli.terminal.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from muniment.verification.verify import Finding, Report

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
        "muniment verify evidence.zip --key root.pub",
        "muniment verify report.html",
    )
)
@click.argument("target", required=False, metavar="[LEDGER|PROOF|BUNDLE|PAGE]")
@click.option(
    "--fast",
    is_flag=True,
    help="Skip the signatures of events that a checkpoint covers; check the rest.",
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
    help="Trust this root, given in full by its keeper; pin it if all checks pass.",
)
@click.option(
    "--trust-on-first-use",
    is_flag=True,
    help="Exit 0 even if no key is pinned; says so, and remembers the root.",
)
@click.option(
    "--require",
    type=click.Choice(["complete"]),
    help="Exit 3 if nothing remembers how long the log was.",
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
    """Check a ledger, proof, evidence bundle or report, from first principles.

    Integrity: the bytes, chain, tree and signatures agree. Authenticity: the keys are
    the ones you accepted. Completeness: nothing that was remembered is missing.
    Needs no network; changes no ledger. The trust home remembers what an intact ledger
    looked like, so that the next verification notices if anything is missing.

    A proof is from `muniment prove`, a bundle from `muniment bundle`. Both are checked
    without their ledger; the completeness of a bundle is that of its run.

    A page is from `muniment report`. The ledger at hand, or the bundle that --ledger names,
    is verified, and then each value of the page that names an event is compared with it.
    A page that carries its evidence needs neither.
    """
    keys += () if pin is None else (_whole(pin),)
    if target is not None and _is_proof(Path(target)):
        from muniment_cli.keys.proof_files import verify_proof

        return verify_proof(
            session,
            Path(target),
            keys,
            as_json=as_json,
            trust_on_first_use=trust_on_first_use,
        )
    page = page_at(Path(target)) if target is not None and is_page(target) else None
    how = {
        "keys": keys or None,
        "anchor": anchor,
        "trust_on_first_use": trust_on_first_use,
        "require_complete": require == "complete",
    }
    report, checked, bundle = _judged(session, target, page, how, fast=fast)
    _remember(session, report, pin)
    if as_json:
        more = {} if checked is None else checked.to_json()
        show_json({**report.to_json(), **more})
    else:
        _show(report)
        named = "" if target is None else f"{quoted(target)} "
        lacking = _unfinished if bundle else _unknown
        if checked is not None:
            checked.show()
        _advise(report, lacking, given=bool(keys), named=named, require=require)
    return report.exit_code if checked is None else checked.exit_code


def _judged(
    session: Session,
    target: str | None,
    page: PageFile | None,
    how: Mapping[str, Any],
    *,
    fast: bool,
) -> tuple[Report, PageVerdict | None, bool]:
    """Verify the target, and what a page is compared with; say whether that is a bundle."""
    with page.evidence() if page is not None else nullcontext() as evidence:
        ours = target is None or page is not None
        place = str(evidence or (session.place() if ours else target))
        source = Path(place) if target is not None and is_bundle(Path(place)) else None
        verify = (
            _of_ledgers(fast=fast)
            if source is None
            else _of_bundles(session, fast=fast)
        )
        with progress("verifying") as advance:
            told = ledger_in(place) if source is None else place
            report = verify(told, **how, progress=advance)
        if target is not None and is_unknown(Path(target)):
            report = _of_no_form(report)
        carries = evidence is not None
        if carries:
            report = replace(report, target=f"{target}, the evidence in it")
        if page is None:
            return report, None, source is not None
        verdict = compared(session, page, report, source, carries=carries)
        return report, verdict, source is not None


def _of_no_form(report: Report) -> Report:
    """Say which files can be verified, where the target is none of them."""
    found = tuple(
        replace(one, remedy=KNOWN) if one.rule == "file/unreadable" else one
        for one in report.findings
    )
    return replace(report, findings=found)


def _is_proof(path: Path) -> bool:
    from muniment.formats.tlog_proof import HEADER

    try:
        if not path.is_file():  # reading anything else may block forever
            return False
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False  # the verifier says what is wrong with it


def _of_ledgers(*, fast: bool) -> Callable[..., Report]:
    from muniment.verification.verify import verify

    return partial(verify, fast=fast, remember=True)


def _of_bundles(session: Session, *, fast: bool) -> Callable[..., Report]:
    from muniment.verification.bundle.verify import verify_bundle

    if fast:
        raise UsageError(
            "a bundle is always checked in full",
            rule="cli/options",
            place="--fast",
            remedy="leave it out",
        )
    return partial(verify_bundle, home=session.home)


def _whole(fingerprint: str) -> str:
    """Refuse a shortened fingerprint: a pin is compared, never looked up."""
    if re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", fingerprint) is None:
        raise UsageError(
            f"{fingerprint!r} is not a whole fingerprint",
            rule="key/fingerprint",
            remedy="give SHA256: and 43 characters, as `muniment init` printed them",
        )
    return fingerprint


def _remember(session: Session, report: Report, pin: str | None) -> None:
    """Pin the key if asked to; note when a known ledger was last verified."""
    home = session.home
    ledger = report.ledger
    try:
        if pin is not None and ledger is not None and report.ok:
            home.pin(ledger, pin)
        known = ledger is not None and home.ledger_at(report.target) == ledger
        if ledger is not None and known and not report.fast and home.pins(ledger):
            home.note_verified(ledger, report.size, ok=report.ok)
    except MunimentError as error:
        complain("warning", str(error))  # this does not change the verdict


def _show(report: Report) -> None:
    name = report.ledger or "no ledger that could be read"
    fields(
        [
            ("ledger", name),
            ("file", report.target),
            ("integrity", _verdict(report.integrity_said, _work(report))),
            ("authenticity", _verdict(report.authenticity, "")),
            ("completeness", _verdict(report.completeness, report.anchored)),
            *(("incomplete", f"it lacks {one}") for one in report.incomplete),
            *(("marked", _mark(one)) for one in report.marked),
            *([("compared", said)] if (said := report.compared_said) else []),
            *([("erased", _erased(report))] if report.erased else []),
            *(("unfinished run", run) for run in report.open_runs),
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


def _mark(said: str) -> Cell:
    mark, comma, where = said.partition(",")
    return [(mark, "bold yellow"), (comma + where, "")]


def _work(report: Report) -> str:
    events = count(report.events_checked, "event")
    signatures = count(report.signatures_checked, "signature")
    return f"{events}, {signatures}, {report.seconds:.2f} s"


def _erased(report: Report) -> str:
    return f"{count(report.erased, 'blob')}, by events that say so"


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


def _unfinished(report: Report) -> str:
    """Say why the events of a bundle were not found complete, and what would help."""
    if not report.incomplete:
        return "the run has no end that covers its events; ask for a newer bundle."
    first, *others = report.incomplete
    lacking = f"it lacks {first}{f', and {len(others)} more' if others else ''}"
    if first.startswith("what "):
        return f"{lacking}; the record does not say whether there is any."
    whole = "" if first.startswith("an end ") else " that is not redacted"
    return f"{lacking}; ask for a newer bundle{whole}."


def _advise(
    report: Report,
    why: Callable[[Report], str],
    *,
    given: bool,
    named: str,
    require: str | None,
) -> None:
    """Say what is missing; *named* is how a command names the target."""
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
        word = "" if require is None else "required, and "
        hint(f"\nCompleteness is {word}unchecked: {why(report)}")
