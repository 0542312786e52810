"""``status``, ``doctor`` and ``verify`` say the same of anchors: same words and counts.

For people and for machines: *anchored* is one thing, and *checkpointed* another.
"""

from __future__ import annotations

import json
import shutil

import pytest

from first_hour import Newcomer

pytestmark = pytest.mark.slow


def both(newcomer: Newcomer, *named: str) -> tuple[str, str]:
    """Return what each says, in this order."""
    status = newcomer.muniment(*named, "status").out
    (line,) = (one for one in status.splitlines() if one.startswith("anchored"))
    document = json.loads(newcomer.muniment(*named, "status", "--json").out)
    checks = json.loads(newcomer.muniment(*named, "doctor", "--json").out)
    (check,) = (one["seen"] for one in checks if one["name"] == "anchored")
    said = document["anchored"].removeprefix("anchored ")
    assert line.split(maxsplit=1)[1] == said == check
    assert type(document["checkpointed"]) is int
    report = json.loads(newcomer.muniment(*named, "verify", "--json").out)
    return line.split(maxsplit=1)[1], report["anchored"].removeprefix("anchored ")


def test_of_one_ledger(
    newcomer: Newcomer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """New, grown, verified before, as an older copy, and for a stranger."""
    newcomer.begin()
    shutil.copytree(newcomer.folder / ".muniment", newcomer.folder / "before")
    assert len(set(both(newcomer))) == 1
    text = "import muniment\nmuniment.open('.muniment/ledger.db').append('note.added', {'text': 'x'})\n"
    assert newcomer.python("-c", text).code == 0
    for _ in range(2):  # the second time there is an earlier verification
        status, verify = both(newcomer)
        assert status == verify
        assert status.startswith("to 2 of 2, ")
    status, verify = both(newcomer, "--ledger", "before/ledger.db")
    assert status == verify
    stranger = Newcomer(newcomer.folder, tmp_path_factory.mktemp("stranger"))
    assert both(stranger) == ("not anchored", "not anchored")
