"""Every change of a bundle with related runs is refused by three verifiers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from muniment.formats.evidence import RELATED
from muniment_plugins.evidence import write_bundle
from mutations import mutations
from relatives import Relatives
from spoiled_bundles import Files, read, sealed, spoiled, spoilings
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


@pytest.mark.parametrize("kind", ["deep", "whole"])
def test_some_leaves(
    made: Relatives, three: Verifiers, tmp_path: Path, kind: str
) -> None:
    """Leaves of the JSON of any line, and of payloads, drawn by chance."""
    path = write_bundle(made.ledger, made.runs[kind], tmp_path / "bundle").path
    drawn = mutations(read(path), Random(11))  # noqa: S311 - no secret
    leaves = (one for one in drawn if one[0] == f"{RELATED}: a leaf")
    assert refused(three, path, islice(leaves, 60)) == 60
