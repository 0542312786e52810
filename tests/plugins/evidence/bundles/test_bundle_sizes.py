"""A file of a bundle that can only be small is not read if it is large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bundled import Bundles
from muniment import verify_bundle
from muniment.files.folder import Folder
from muniment.formats.evidence import MANIFEST, MOST_BYTES, RUN
from muniment.verification.page.run_view import MOST_VIEW
from spoiled_bundles import copy


@pytest.mark.parametrize("more", [1, 20 * 2**30])
@pytest.mark.parametrize("name", [*MOST_BYTES, MANIFEST])
def test_a_large_file(
    name: str,
    more: int,
    bundles: Bundles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is named by its size, and not a byte of it is read."""
    folder = copy(bundles.folder, tmp_path / "bundle")
    if not (folder / name).exists():
        pytest.skip("the bundle has no such file")
    files = sum(one.is_file() for one in folder.rglob("*"))
    os.truncate(folder / name, MOST_BYTES.get(name, 8192 * files) + more)
    opener = Folder.opened

    def watched(self: Folder, asked: str) -> object:
        assert asked != name
        return opener(self, asked)

    monkeypatch.setattr(Folder, "opened", watched)
    report = verify_bundle(folder, keys=[bundles.root], home=bundles.home)

    assert report.exit_code == 1
    found = [(one.rule, one.place) for one in report.findings]
    assert ("bundle/size", name) in found
    assert {place for _, place in found if place in MOST_BYTES} <= {name}


def test_the_verifiers_have_one_bound() -> None:
    """The view of a run may be as large for muniment as for the standalone verifiers."""
    assert MOST_BYTES[RUN] == MOST_VIEW
