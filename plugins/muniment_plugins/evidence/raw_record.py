"""The record of a run, written as a raw bundle and verified as its receiver would.

Rule: what is handed on is judged first, by the verifier that everybody has.
"""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from muniment import verify_bundle
from muniment.errors import WrongError
from muniment_plugins.evidence.containers import write_files
from muniment_plugins.evidence.files import Files, listed_files, own_line, tree_files
from muniment_plugins.evidence.progress import Passes
from muniment_plugins.evidence.related import with_related
from muniment_plugins.evidence.selection import Selected, size_of

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.verification.report import Report

__all__ = ["check_written", "raw_files", "root_of", "verified_record"]


def verified_record(ledger: Ledger, run: str) -> Report:
    """Return what `muniment verify` says of the raw bundle of *run*.

    The root of the ledger counts as given: that it is the right one is for others to say.

    Raises:
        CannotTellError: a blob is gone, or no checkpoint covers the events.
        WrongError: the record does not verify.

    """
    root = root_of(ledger)
    selected = with_related(Selected.of(ledger, run))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw"
        write_files(raw_files(selected), path, lambda _: None)
        return check_written(path, root, ledger)


def root_of(ledger: Ledger) -> str:
    """Return the id of the root key that signed the genesis."""
    return next(one.keyid for one in ledger.keys.entries if "root" in one.roles)


def raw_files(selected: Selected) -> Files:
    """Return the files of a bundle without a closing event."""
    ledger = selected.ledger
    note, log = own_line(ledger.first_checkpoint_over(selected.last), ledger)
    events = partial(selected.with_keys, size_of(note))
    files = listed_files(selected, events, (), (selected.signer, log), {})
    tree = tree_files(
        ledger, lambda: chain(events(), selected.others()), selected.withheld, note
    )
    return {**files, **tree}


def check_written(
    path: Path, root: str, ledger: Ledger, passes: Passes | None = None
) -> Report:
    """Return the verdict on a bundle; refuse one that its receiver would refuse."""
    advance = None if passes is None else passes.verified
    report = verify_bundle(path, keys=[root], home=ledger.home, progress=advance)
    for found in report.findings:
        raise WrongError(
            f"the record of the run does not verify: {found.message}",
            rule=found.rule,
            seq=found.seq,
            place=found.place,
            remedy="`muniment verify` judges the whole ledger; nothing was written",
        )
    return report
