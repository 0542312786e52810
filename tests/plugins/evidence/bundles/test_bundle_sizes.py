"""A file of a bundle that can only be small is not read if it is large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bundled import Bundles
from muniment import verify_bundle
from muniment.formats.evidence import LEDGER_PUB, LEDGER_VKEY, POLICY, TRUSTED_ROOT
from muniment.verification.bundle.members import Members
from spoiled_bundles import copy


@pytest.mark.parametrize("name", [LEDGER_PUB, LEDGER_VKEY, TRUSTED_ROOT, POLICY])
@pytest.mark.parametrize("size", [2**20 + 1, 20 * 2**30])
def test_a_large_file_of_trust(
    name: str,
    size: int,
    bundles: Bundles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is named by its size, once, and not a byte of it is hashed."""
    folder = copy(bundles.folder, tmp_path / "bundle")
    os.truncate(folder / name, size)
    pieces = Members.pieces

    def watched(self: Members, asked: str) -> object:
        assert asked != name
        return pieces(self, asked)

    monkeypatch.setattr(Members, "pieces", watched)
    report = verify_bundle(folder, keys=[bundles.root], home=bundles.home)

    assert report.exit_code == 1
    found = [(one.rule, one.place) for one in report.findings]
    assert found.count(("bundle/size", name)) == 1
    assert {rule for rule, _ in found} <= {"bundle/size", "verify/incomplete"}
