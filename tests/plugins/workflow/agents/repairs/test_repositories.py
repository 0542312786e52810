"""Ten small broken repositories are mended, verified by their own cases, and reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from capsule_cases import judged, read_cases
from muniment import verify
from repairs import NAMES, REPOSITORIES, ledger_of, performed, repository, run


def test_there_are_ten() -> None:
    """There are ten, beside the one that the example brings along."""
    assert len(NAMES) == 10


@pytest.mark.parametrize("name", NAMES)
def test_it_is_broken(name: str) -> None:
    """Some of its cases hold, and some do not."""
    folder = REPOSITORIES / name
    cases = read_cases(folder / "cases.json")
    come = judged(cases, texts(folder))
    assert 0 < len(come["wrong"]) < len(cases)


FAST = ("basket", "parcels")
"""Two edits of one module, and a fault in two of four."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in FAST else pytest.mark.slow) for one in NAMES],
)
def test_it_is_mended(tmp_path: Path, name: str) -> None:
    """Cases fail before and hold afterwards; the report says so, and the ledger verifies."""
    folder = repository(name, tmp_path)
    assert not held(folder)
    ran = run(folder)

    assert (ran.code, ran.conclusion) == (0, "repaired")
    assert held(folder)
    assert "replayed, with nothing asked or run: acceptable" in ran.lines
    told = [one for one in ran.lines if one.startswith(("verify.", "review."))]
    assert told[0].startswith('verify.1 verified: {"ok": true')
    assert told[-1].startswith("review.1 verified: PASS")
    with ledger_of(folder) as ledger:
        assert verify(ledger.path).ok
    once = performed(folder)
    assert sum(one.startswith("cases_hold") for one in once) == 1


def texts(folder: Path) -> dict[str, str]:
    """Return the modules of a folder."""
    return {one.name: one.read_text() for one in sorted(folder.glob("*.py"))}


def held(folder: Path) -> bool:
    """Tell whether the cases hold, by the modules that are there."""
    return bool(judged(read_cases(folder / "cases.json"), texts(folder))["ok"])


def test_it_holds_before(tmp_path: Path) -> None:
    """Where nothing was wrong, and nothing was changed, nothing is said to be repaired."""
    folder = repository("paging", tmp_path)
    text = (folder / "paging.py").read_text()
    (folder / "paging.py").write_text(
        text.replace("total // size + 1", "max(1, -(-total // size))")
    )
    ran = run(folder)
    assert (ran.code, ran.conclusion) == (1, "the cases held before")


def test_the_rest_stays_as_it_is(tmp_path: Path) -> None:
    """Line ends, and what is around an edit, are those that were there."""
    folder = repository("paging", tmp_path)
    before = (folder / "paging.py").read_bytes().replace(b"\n", b"\r\n")
    (folder / "paging.py").write_bytes(before)
    ran = run(folder)
    assert ran.conclusion == "repaired", ran.text
    wanted = before.replace(b"total // size + 1", b"max(1, -(-total // size))")
    assert (folder / "paging.py").read_bytes() == wanted
    (at,) = [one for one in ran.lines if one.startswith("mend.1/turn.1 calls")]
    run(folder, "--fork", at.partition("(event ")[2].partition(",")[0])
    assert (folder / "paging.py").read_bytes() == wanted
