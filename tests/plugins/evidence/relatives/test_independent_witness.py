"""Whoever reads the specification alone, and writes a verifier, comes to the same verdicts."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from all_breaches import BREACHES
from bundled import Bundles, bundle_on_p256, evidence_plugins
from every_kind import make
from forge import keyid
from forged_bundles import Bundled
from independent_verifier import FOLDER, witness
from muniment import verify_bundle
from muniment.ledger import Ledger
from muniment.verification.report import Report
from muniment_plugins.evidence import write_bundle
from mutations import mutations
from relatives import KINDS, Relatives
from spoiled_bundles import copy, read, spoiled
from three_verifiers import NEEDS_NODE

pytestmark = NEEDS_NODE
CHANGES = 100
"""How many changes of a kind of bundle are judged where the suite has to be quick."""


@pytest.mark.parametrize("raw", [False, True])
def test_honest_bundles_of_related_runs(
    made: Relatives, raw: bool, tmp_path: Path
) -> None:
    """Children, forks, changes, erasures: each bundle holds, and is as complete."""
    with witness(made.root) as asked:
        for kind in KINDS:
            path = write_bundle(
                made.ledger, made.runs[kind], tmp_path / kind, raw=raw
            ).path
            report = verify_bundle(path, keys=[made.root], home=made.home)
            assert asked(path) == (0, report.completeness), kind


def test_honest_bundles_of_every_kind_of_run(tmp_path: Path) -> None:
    """As directories and as zip files, whole and redacted; none was left out as unknown."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        runs = list(dict.fromkeys(one.run for one in ledger.events() if one.run))
        root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
        with witness(root) as asked:
            for number, run in enumerate(runs):
                for name, shown in ((f"{number}", None), (f"{number}.zip", [])):
                    path = write_bundle(
                        ledger, run, tmp_path / name, disclose=shown
                    ).path
                    code, said = asked(path)
                    assert code == 0, said


def judge_changes(
    kind: str, bundles: Bundles, base: Path, number: int, every: int
) -> None:
    """Let it judge *number* changes of a bundle, of which one in so many is taken."""
    root = bundle_on_p256(base) if kind == "p256" else bundles.root
    made = base / "bundle" if kind == "p256" else getattr(bundles, kind)
    folder = copy(made, base / "copy")
    files = read(folder)
    drawn = mutations(files, Random(11))  # noqa: S311 - no secret
    with witness(root) as asked:
        assert asked(folder)[0] == 0
        for what, spoilt in islice(drawn, 0, number * every, every):
            with spoiled(folder, files, spoilt):
                code, said = asked(folder)
            assert code == 1, (what, said)


@pytest.mark.parametrize("kind", ["folder", "raw", "redacted", "p256"])
def test_some_changes(kind: str, bundles: Bundles, tmp_path: Path) -> None:
    """What the three verifiers refuse (`test_three_verifiers`), it refuses."""
    judge_changes(kind, bundles, tmp_path, CHANGES, 5)


OF_BUNDLES = [name for name, one in BREACHES.items() if one.page == "evidence"]


@pytest.mark.parametrize("name", OF_BUNDLES)
def test_each_sentence_about_bundles_that_is_broken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds what breaks a sentence of `evidence.md` alone, and nothing without that."""
    verified, told = Bundled.verified, list[tuple[bool, bool, str]]()

    def compared(self: Bundled, files: Any, **options: Any) -> Report:
        report = verified(self, files, **options)
        if options.keys() <= {"home"}:  # it is given a key, and no more
            with witness(keyid(self.world.forge.key("root"))) as asked:
                code, said = asked(self.world.folder / "bundle")
            told.append((code == 1, report.exit_code == 1, said))
        return report

    monkeypatch.setattr(Bundled, "verified", compared)
    for wrong in (False, True):
        BREACHES[name].judged(tmp_path / f"{wrong}", wrong=wrong)
    for ours, theirs, said in told:
        assert ours == theirs, said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "raw", "redacted", "p256"])
def test_many_changes(kind: str, bundles: Bundles, tmp_path: Path) -> None:
    """The same with all of the first ones."""
    judge_changes(kind, bundles, tmp_path, 2000, 1)


def test_it_shares_nothing() -> None:
    """It has no code of ours, and says in each file what it is."""
    for path in FOLDER.glob("*.mjs"):
        text = path.read_text()
        named = re.findall(r"""(?:from|import\()\s*['"]([^'"]+)['"]""", text)
        assert all(one.startswith(("./", "node:")) for one in named), path
        assert (
            "written from\n// docs/spec by somebody who had not read the code" in text
        )
