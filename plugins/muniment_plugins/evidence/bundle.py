"""Writes the evidence bundle of a run.

    write_bundle(ledger, "01JD3", Path("evidence"))       a directory
    write_bundle(ledger, "01JD3", Path("evidence.zip"))   a zip file

Rules:

- The same run gives the same bytes, unless something was added to it or to its series,
  or erased from it.
- What was written is verified, as its receiver will, before it gets its name.
- *raw* needs no key: nothing is appended, and there is neither closing event nor view,
  nor anything of series, since nothing would say that these are all.
- The runs upon which the run rests are in it, unless it is redacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import UsageError
from muniment.formats.evidence import MANIFEST
from muniment_plugins.evidence.closing import closed_files
from muniment_plugins.evidence.containers import write_files
from muniment_plugins.evidence.disclosure import Disclosure
from muniment_plugins.evidence.files import (
    digest_of,
    views,
)
from muniment_plugins.evidence.progress import Advance, Passes
from muniment_plugins.evidence.raw_record import check_written, raw_files, root_of
from muniment_plugins.evidence.related import with_related
from muniment_plugins.evidence.selection import Selected

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Written", "write_bundle"]


@dataclass(frozen=True, slots=True)
class Written:
    """A bundle as it was written."""

    path: Path
    run: str
    manifest: str
    """``sha256:<hex>`` of MANIFEST: the digest of the whole bundle."""
    files: int
    events: int
    """How many events it shows of the run, and about it."""
    related: tuple[str, ...]
    """The runs upon which the run rests, and which are in the bundle."""
    closed_by: int | None
    """The number of the closing event; None in a raw bundle."""
    shown: Mapping[str, int]
    """Type → how many payloads of the run a redacted bundle discloses."""
    withheld: Mapping[str, int]
    """Type → how many it withholds."""
    withheld_blobs: int
    private_blobs: int
    """How many of them are private: somebody asked for them, and they stayed withheld."""
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
    if disclosure is None:
        selected = with_related(selected)
    related = selected.related
    number = selected.count + (0 if related is None else related.count)
    passes = Passes(progress, number, packed=path.suffix.lower() == ".zip")
    selected = selected.followed(passes.read)
    if raw:
        files, closed_by = raw_files(selected), None
    else:
        closed = closed_files(selected, views(selected))
        files, closed_by = closed.files, closed.event.seq
    root = root_of(ledger)
    write_files(files, path, lambda fresh: check_written(fresh, root, ledger, passes))
    return Written(
        path,
        selected.run,
        f"sha256:{digest_of(files[MANIFEST]).hex()}",
        len(files),
        selected.count,
        () if related is None else tuple(related.ends),
        closed_by,
        {} if disclosure is None else dict(disclosure.shown),
        {} if disclosure is None else dict(disclosure.withheld),
        len(selected.withheld.blobs),
        0 if disclosure is None else len(disclosure.private & selected.withheld.blobs),
        root,
    )
