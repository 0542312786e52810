"""``muniment replay`` and ``runs diff`` of facts about something else, or in another series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("made")

STATING = """
import os


def stating(run):
    said = {"text": "seen"}
    about = [("n", "sha256:" + os.environ.get("ABOUT", "0") * 64)]
    run.record("note.added", said, subject=about, series=["k/" + os.environ.get("SERIES", "0")])
    return 1
"""


@pytest.mark.parametrize(
    ("name", "field", "was", "now"),
    [
        ("ABOUT", "subject", "n sha256:" + "0" * 64, "n sha256:" + "1" * 64),
        ("SERIES", "series", "k/0", "k/1"),
    ],
)
def test_other_links_are_named(
    installed: Any, work: Path, name: str, field: str, was: str, now: str
) -> None:
    """The process that runs the program reports them, and the one that judges compares."""
    (work / "stating.py").write_text(STATING)
    run = installed("run", "stating.py:stating", "--json").json["run"]
    assert installed("replay", run, "--no-record").code == 0
    again = ("replay", run, "--no-record", "--env", f"{name}=1", "--json")
    found = installed(*again)
    assert (found.code, found.json["verdict"]) == (1, "unacceptable")
    first = found.json["first_divergence"]
    told = [first[one] for one in ("what", "field", "expected", "got")]
    assert told == ["fact", field, was, now]
    bounded = installed(*again, "--mode", "bounded")
    assert (bounded.code, bounded.json["verdict"]) == (0, "acceptable_with_warnings")
    other = installed("run", "stating.py:stating", "--json", env={name: "1"}).json[
        "run"
    ]
    differ = installed("runs", "diff", run, other, "--json")
    assert differ.code == 1
    (one,) = differ.json["differences"]
    assert (one["what"], one["field"], one["got"]) == ("fact", field, now)
