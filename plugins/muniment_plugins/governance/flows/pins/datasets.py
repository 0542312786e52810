"""Datasets: the digest of a flow's data, computed whenever the flow runs.

    "dataset_hash": "sha256:9f2b…"                        a file, or a folder
    "dataset_hash": "136275faf776ff9aae3823d7d6f928e9"    as DVC has it for a file
    "dataset_hash": "….dir"                               as DVC has it for a folder

Rules:

- The digest of a folder is that of the canonical list of [path, digest of the file],
  sorted by path. A folder in it without files or folders is in the list, as [path and a
  slash, nothing]: whoever reads the data sees it. Where there is none, the list is that of
  the files alone, as DVC's always is, and as it was in the first edition.
- A link in a folder is refused: what it leads to may change.
- *frozen* and *deprecated* data has the declared digest, or nothing runs; *experimental*
  data may change, and its digest is recorded.
- A version never goes back: what was frozen once stays frozen, with the same digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import CannotTellError, RefusedError
from muniment_plugins.governance.documents.manifest import DatasetPin
from muniment_plugins.governance.documents.words import DATASET_STATES, rank
from muniment_plugins.governance.flows.edition import EDITION, edition_of

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = [
    "PinnedData",
    "pinned",
    "place_of",
    "refuse_declared",
    "refuse_history",
    "stated_dataset",
]

_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class PinnedData:
    """What the data is now."""

    sha256: str
    md5: str
    """As DVC computes it: of the bytes of a file, of a list of files with ``.dir``."""
    files: int
    bytes: int

    def is_declared(self, declared: str) -> bool:
        """Tell whether a manifest's *declared* digest is one of these."""
        return declared in (
            self.sha256,
            self.sha256.removeprefix("sha256:"),
            self.md5,
            f"md5:{self.md5}",
        )

    def document(self) -> dict[str, JsonValue]:
        """Return it as the params of a run have it."""
        return {"sha256": self.sha256, "files": self.files, "bytes": self.bytes}


def place_of(dataset: DatasetPin, folder: Path) -> Path:
    """Return where the data is; a relative path begins in *folder*."""
    return folder / unquote(dataset.storage_uri.removeprefix("file://"))


def pinned(dataset: DatasetPin, folder: Path, edition: int = EDITION) -> PinnedData:
    """Return the digests of the data as it is now, by the rules of an *edition*.

    Raises:
        CannotTellError: it is not there, or cannot be read.

    """
    place = place_of(dataset, folder)
    try:
        if place.is_dir():
            return _of_folder(place, edition)
        return _of_file(place)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CannotTellError(
            f"the data cannot be read: {why}",
            rule="dataset/missing",
            place=str(place),
            remedy="give the data to whoever runs this; `--readable` lets a replay read it",
        ) from error


@dataclass(slots=True)
class _Sums:
    sha256: str
    md5: str
    size: int


def _sums(place: Path) -> _Sums:
    sha, md5, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
    with place.open("rb") as file:
        while part := file.read(_PART):
            sha.update(part)
            md5.update(part)
            size += len(part)
    return _Sums("sha256:" + sha.hexdigest(), md5.hexdigest(), size)


def _of_file(place: Path) -> PinnedData:
    if place.exists() and not place.is_file():
        raise _odd(place, "it is neither a file nor a folder")
    sums = _sums(place)
    return PinnedData(sums.sha256, sums.md5, 1, sums.size)


def _of_folder(place: Path, edition: int) -> PinnedData:
    found = sorted(_walked(place, place))
    rows = [(path, _sums(file)) for path, file in found if not path.endswith("/")]
    listing = [(path, sums.sha256) for path, sums in rows]
    if edition > 1:
        listing += [(path, "") for path, _ in found if path.endswith("/")]
    listed: JsonValue = [[path, digest] for path, digest in sorted(listing)]
    as_dvc = [{"md5": sums.md5, "relpath": path} for path, sums in rows]
    text = json.dumps(as_dvc, sort_keys=True).encode()
    return PinnedData(
        sha256=sha256_tag(canonical(listed)),
        md5=hashlib.md5(text, usedforsecurity=False).hexdigest() + ".dir",
        files=len(rows),
        bytes=sum(sums.size for _, sums in rows),
    )


def _walked(top: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield files by their paths, and folders with nothing in them, with a slash."""
    is_empty = folder != top
    with os.scandir(folder) as entries:
        for entry in entries:
            is_empty = False
            if entry.is_symlink():
                raise _odd(Path(entry.path), "it is a link")
            if entry.is_dir():
                yield from _walked(top, Path(entry.path))
            elif entry.is_file():
                yield Path(entry.path).relative_to(top).as_posix(), Path(entry.path)
            else:
                raise _odd(Path(entry.path), "it is neither a file nor a folder")
    if is_empty:
        yield f"{folder.relative_to(top).as_posix()}/", folder


def _odd(place: Path, why: str) -> CannotTellError:
    return CannotTellError(
        f"the data has no digest: {why}",
        rule="dataset/file",
        place=str(place),
        remedy="put regular files there",
    )


def refuse_declared(dataset: DatasetPin, now: PinnedData, place: str) -> None:
    """Refuse frozen data that has another digest than the manifest declares.

    Raises:
        RefusedError: it has.

    """
    if dataset.dataset_state == "experimental" or now.is_declared(dataset.dataset_hash):
        return
    raise RefusedError(
        f"the {dataset.dataset_state} data changed: it has {now.sha256}, and not "
        f"{dataset.dataset_hash}",
        rule="dataset/changed",
        place=f"{place}: dataset.dataset_hash",
        remedy="restore the data, or give the new data a new dataset_version",
    )


def refuse_history(
    ledger: Ledger, dataset: DatasetPin, now: PinnedData, place: str
) -> None:
    """Refuse a version that was frozen in *ledger*, and now is less, or other data.

    Raises:
        RefusedError: it is.

    """
    earlier = [
        event
        for event in ledger.events(type="dataset.pinned", tenant=dataset.tenant_id)
        if event.raw["dataset_id"] == dataset.dataset_id
        and event.raw["version"] == dataset.dataset_version
    ]
    _refuse_back(dataset, [one.raw for one in earlier], place)
    frozen = [one for one in earlier if one.raw["state"] != "experimental"]
    if frozen and not _is_same(ledger, frozen[-1], dataset, now, Path(place).parent):
        raise RefusedError(
            f"version {dataset.dataset_version} was frozen as "
            f"{frozen[-1].raw['sha256']}",
            rule="dataset/history",
            place=f"{place}: dataset.dataset_version",
            remedy="give the new data a new dataset_version",
        )


def _is_same(
    ledger: Ledger, frozen: Event, dataset: DatasetPin, now: PinnedData, folder: Path
) -> bool:
    """Tell whether the data is what was *frozen*, by the edition that froze it."""
    if frozen.raw["sha256"] == now.sha256:
        return True
    started = next(ledger.events(run=frozen.run, limit=1))
    params = ledger.resolve(started).get("params")
    told = cast("dict[str, object]", params if isinstance(params, dict) else {})
    pins = cast("Mapping[str, JsonValue]", told.get("pins") or {"edition": EDITION})
    edition = edition_of(pins)
    return pinned(dataset, folder, edition).sha256 == frozen.raw["sha256"]


def _refuse_back(
    dataset: DatasetPin, earlier: Iterable[Mapping[str, object]], place: str
) -> None:
    states = [cast("str", one["state"]) for one in earlier]
    latest = max((rank(one, DATASET_STATES) for one in states), default=0)
    if rank(dataset.dataset_state, DATASET_STATES) < latest:
        raise RefusedError(
            f"the dataset was {DATASET_STATES[latest]}, and cannot be "
            f"{dataset.dataset_state} again",
            rule="dataset/state",
            place=f"{place}: dataset.dataset_state",
            remedy="states go from experimental to frozen to deprecated; give it a new "
            "dataset_version",
        )


def stated_dataset(
    dataset: DatasetPin, pins: Mapping[str, JsonValue]
) -> dict[str, object]:
    """Return the fact that the data of the flow is the pinned one."""
    return {
        "dataset_id": dataset.dataset_id,
        "version": dataset.dataset_version,
        "state": dataset.dataset_state,
        "declared": dataset.dataset_hash,
        "uri": dataset.storage_uri,
        **pins,
    }
