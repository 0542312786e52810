"""Every change of a bundle with related runs is refused by three verifiers."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muniment import verify_bundle
from muniment.formats.evidence import EVENTS, PROOFS, RELATED, blob_name
from muniment_plugins.evidence import write_bundle
from mutations import mutations
from relatives import Relatives
from spoiled_bundles import Files, read, sealed, spoiled, spoilings, write
from three_verifiers import Verifiers

NUMBER = int(os.environ.get("MUNIMENT_FUZZ", "500"))


def refused(
    three: Verifiers, folder: Path, changes: Iterable[tuple[str, Files]]
) -> int:
    """Require all three to refuse each change; return how many there were."""
    files, number = read(folder), 0
    assert three.codes(folder)[0] == (0, 0, 0)
    for what, changed in changes:
        with spoiled(folder, files, changed):
            codes, said = three.codes(folder)
        assert codes == (1, 1, 1), (what, codes, said)
        number += 1
    return number


@pytest.mark.slow
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", ["failed", "place", "erased"])
def test_each_line_of_related_runs(
    made: Relatives, three: Verifiers, tmp_path: Path, kind: str, raw: bool
) -> None:
    """Dropped, doubled, moved, changed; with a MANIFEST that agrees, too."""
    path = write_bundle(made.ledger, made.runs[kind], tmp_path / "bundle", raw=raw).path
    files = read(path)
    lines = len(files[RELATED].splitlines())
    changes = [
        (f"{one.what}{sealing}", changed)
        for one in spoilings(files)
        if one.name == RELATED
        for sealing, changed in (("", one.files), (", listed", sealed(one.files)))
        if changed != files
    ]
    assert refused(three, path, changes) > 6 * lines


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deep", "of fork", "changed"])
def test_each_change(
    made: Relatives, three: Verifiers, tmp_path: Path, kind: str
) -> None:
    """Files, lines, bytes, JSON leaves, payloads, of every file."""
    path = write_bundle(made.ledger, made.runs[kind], tmp_path / "bundle").path
    chance = Random(7)  # noqa: S311 - no secret
    changes = islice(mutations(read(path), chance), NUMBER)
    assert refused(three, path, changes) == NUMBER


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deep", "whole"])
def test_some_leaves(
    made: Relatives, three: Verifiers, tmp_path: Path, kind: str
) -> None:
    """Leaves of the JSON of any line, and of payloads, drawn by chance."""
    path = write_bundle(made.ledger, made.runs[kind], tmp_path / "bundle").path
    drawn = mutations(read(path), Random(11))  # noqa: S311 - no secret
    leaves = (one for one in drawn if one[0] == f"{RELATED}: a leaf")
    assert refused(three, path, islice(leaves, 60)) == 60


def payload(line: bytes) -> Any:
    """Return the statement in an envelope."""
    return json.loads(base64.b64decode(json.loads(line)["payload"]))


def without(files: Files, gone: set[int]) -> Files:
    """Return a raw bundle without some lines of related runs, their proofs and blobs."""
    lines = files[RELATED].splitlines(keepends=True)
    kept = [at for at in range(len(lines)) if at not in gone]
    own = len(files[EVENTS].splitlines())
    proofs = files[PROOFS].splitlines(keepends=True)
    shown = [*files[EVENTS].splitlines(), *(lines[at] for at in kept)]
    values = [
        one for line in shown for one in payload(line)["predicate"]["data"].values()
    ]
    references = [one for one in values if isinstance(one, dict) and "$blob" in one]
    named = {blob_name(one["$blob"]) for one in references}
    left: dict[str, bytes] = {
        name: data
        for name, data in files.items()
        if not name.startswith("blobs/") or name in named
    }
    left[PROOFS] = b"".join([*proofs[:own], *(proofs[own + at] for at in kept)])
    left[RELATED] = b"".join(lines[at] for at in kept)
    return sealed(left if kept else {n: d for n, d in left.items() if n != RELATED})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deep", "failed", "place", "whole"])
def test_taken_out_without_keys(
    made: Relatives, three: Verifiers, tmp_path: Path, kind: str
) -> None:
    """Each run, each event, each rest taken out of a raw bundle: refused, or named."""
    run = made.runs[kind]
    files = read(write_bundle(made.ledger, run, tmp_path / "raw", raw=True).path)
    lines = files[RELATED].splitlines()
    told = [payload(line)["predicate"]["muniment"] for line in lines]
    runs = {one["run"] for one in told}
    every = range(len(lines))
    taken = [{at for at in every if told[at]["run"] == one} for one in runs]
    taken += [{at} for at in every] + [set(range(at, len(lines))) for at in every]
    for number, gone in enumerate(taken):
        path = write(tmp_path / f"{number}", without(files, gone))
        codes, said = three.codes(path)
        report = verify_bundle(path, keys=[made.root], home=made.home)
        if codes != (1, 1, 1):
            assert codes == (0, 0, 0), said
            assert said.count("INCOMPLETE") == 2 * bool(report.incomplete)
            unnamed = {told[at]["type"] for at in gone} <= {
                "claim.stated",
                "note.added",
            }
            noted = "is here up to the fork" in str(report) and unnamed
            assert report.incomplete or noted, (gone, said)
