"""Writes the evidence bundle of a run.

    write_bundle(ledger, "01JD3", Path("evidence"))       a directory
    write_bundle(ledger, "01JD3", Path("evidence.zip"))   a zip file

Rules:

- The same run gives the same bytes, unless something was added to it or to its series,
  or erased from it.
- What was written is verified, as its receiver will, before it gets its name.
- *raw* needs no key: nothing is appended, and there is neither closing event nor view,
  nor anything of other runs, since nothing would say that these are all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from muniment import verify_bundle
from muniment.errors import UsageError, WrongError
from muniment.formats.evidence import MANIFEST
from muniment_plugins.evidence.closing import closed_files
from muniment_plugins.evidence.containers import write_files
from muniment_plugins.evidence.disclosure import Disclosure
from muniment_plugins.evidence.files import (
    Files,
    digest_of,
    listed_files,
    own_line,
    tree_files,
    views,
)
from muniment_plugins.evidence.progress import Advance, Passes
from muniment_plugins.evidence.selection import Selected, size_of

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.verification.report import Report

__all__ = ["Written", "root_of", "verified_record", "write_bundle"]


@dataclass(frozen=True, slots=True)
class Written:
    """A bundle as it was written."""

    path: Path
    run: str
    manifest: str
    """``sha256:<hex>`` of MANIFEST: the digest of the whole bundle."""
    files: int
    events: int
    closed_by: int | None
    """The number of the closing event; None in a raw bundle."""
    shown: Mapping[str, int]
    """Type → how many payloads of the run a redacted bundle discloses."""
    withheld: Mapping[str, int]
    """Type → how many it withholds."""
    withheld_blobs: int
    root: str
    """The key id of the root that signed the genesis; receivers verify with it."""


def write_bundle(
    ledger: Ledger,
    run: str,
    path: Path,
    *,
    raw: bool = False,
    disclose: Iterable[str] | None = None,
    progress: Advance | None = None,
) -> Written:
    """Write the evidence bundle of *run* to *path*.

    Args:
        ledger: open for writing, unless the run's bundle was closed before, or *raw*.
        run: the run's id, or a unique prefix.
        path: a new directory, or a new file whose name ends in ``.zip``.
        raw: whether to leave out the closing event, for somebody without keys.
        disclose: what a redacted bundle shows, see `Disclosure`; None redacts nothing.
        progress: called with (done, total), in a unit of its own.

    Raises:
        UsageError: there is no such run, something is at *path*, or what is to be
            disclosed does not exist.
        CannotTellError: a blob is gone, or no checkpoint covers the events.
        WrongError: the ledger's own record of the run does not verify.

    """
    if raw and disclose is not None:
        raise UsageError(
            "a raw bundle cannot be redacted: no event would vouch for what is withheld",
            rule="evidence/redact",
            place=str(path),
            remedy="write it where the writer's key is, without --raw",
        )
    disclosure = None if disclose is None else Disclosure(disclose)
    selected = Selected.of(ledger, ledger.run_id(run), disclosure)
    passes = Passes(progress, selected.count, packed=path.suffix == ".zip")
    selected = replace(selected, on_read=passes.read)
    if raw:
        files, closed_by = _raw_files(selected), None
    else:
        closed = closed_files(selected, views(selected))
        files, closed_by = closed.files, closed.event.seq
    root = root_of(ledger)
    write_files(files, path, lambda fresh: _check(fresh, root, ledger, passes))
    return Written(
        path,
        selected.run,
        f"sha256:{digest_of(files[MANIFEST]).hex()}",
        len(files),
        selected.count,
        closed_by,
        {} if disclosure is None else dict(disclosure.shown),
        {} if disclosure is None else dict(disclosure.withheld),
        len(selected.withheld.blobs),
        root,
    )


def verified_record(ledger: Ledger, run: str) -> Report:
    """Return what `muniment verify` says of the raw bundle of *run*.

    The root of the ledger counts as given: that it is the right one is for others to say.

    Raises:
        CannotTellError: a blob is gone, or no checkpoint covers the events.
        WrongError: the record does not verify.

    """
    root = root_of(ledger)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw"
        write_files(_raw_files(Selected.of(ledger, run)), path, lambda _: None)
        return _check(path, root, ledger)


def root_of(ledger: Ledger) -> str:
    """Return the id of the root key that signed the genesis."""
    return next(one.keyid for one in ledger.keys.entries if "root" in one.roles)


def _raw_files(selected: Selected) -> Files:
    ledger = selected.ledger
    note, log = own_line(ledger.first_checkpoint_over(selected.last), ledger)
    events = partial(selected.with_keys, size_of(note))
    files = listed_files(selected, events, (), (selected.signer, log), {})
    return {**files, **tree_files(ledger, events, selected.withheld, note)}


def _check(
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
