"""The report in a bundle says what the bundle says, whoever wrote it."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from forged_pages import Noted, forgeries, page_plugins, written_with
from muniment.ledger import Ledger
from muniment.verification.page.frame import page_head
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.report.html import HEAD
from three_verifiers import NEEDS_NODE, Verifiers, verifiers

pytestmark = NEEDS_NODE
NUMBER = int(os.environ.get("MUNIMENT_FUZZ", "150"))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger with two runs of a program that notes everything."""
    place = tmp_path_factory.mktemp("pages")
    with Ledger.create(
        place / "ledger.db", home=place / "home", plugins=page_plugins()
    ) as ledger:
        ledger.execute(Noted())
        ledger.execute(Noted(), params={"text": "b"})
        (asked,) = ledger.events(type="llm.requested", limit=1)
        blob = asked.raw["request"]
        assert isinstance(blob, dict)
        ledger.erase(str(blob["$blob"]), reason="asked to")
        ledger.checkpoint()
        yield ledger


@pytest.fixture(scope="module")
def three(
    ledger: Ledger, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Verifiers]:
    """Lend the three verifiers."""
    root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
    with verifiers(root, tmp_path_factory.mktemp("nobody")) as three:
        yield three


def runs(ledger: Ledger) -> list[str]:
    """Return the ids of all runs."""
    return [str(one.run) for one in ledger.events(type="run.started")]


@pytest.mark.parametrize("disclose", [None, ["note.added"], ["llm.*", "llm.*/*"], []])
def test_every_value_is_compared(
    ledger: Ledger, three: Verifiers, tmp_path: Path, disclose: list[str] | None
) -> None:
    """Sums, means, counts, dots, texts, names, what is erased, what is withheld."""
    for run in runs(ledger):
        path = write_bundle(ledger, run, tmp_path / run, disclose=disclose).path
        codes, said = three.codes(path)
        assert codes == (0, 0, 0), said
        page = (path / "report.html").read_text()
        cited = len(re.findall("<(?:data|circle) ", page))
        assert said.count(f"{cited} values of the report") == 2, said
        assert cited > 25


def _given(changed: bytes, _: str) -> bytes:
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("disclose", [[], ["note.added"]])
def test_each_forgery_is_refused_by_all(
    ledger: Ledger, three: Verifiers, tmp_path: Path, disclose: list[str]
) -> None:
    """A key holder who closes a bundle with another page: three verifiers refuse it."""
    run = runs(ledger)[0]
    how: dict[str, Any] = {"disclose": disclose} if disclose else {}
    honest = write_bundle(ledger, run, tmp_path / "honest", **how).path
    page = (honest / "report.html").read_text()
    tried = Counter[str]()
    changes = islice(forgeries(page, Random(11)), NUMBER)  # noqa: S311 - no secret
    for number, (what, changed) in enumerate(changes):
        place = tmp_path / f"{number}"
        path = written_with(ledger, run, place, partial(_given, changed), **how)
        codes, said = three.codes(path)
        shutil.rmtree(path)
        if what == "another form" and codes == (0, 0, 0):
            continue  # a short text is the same with lines of its own
        assert codes == (1, 1, 1), (what, codes, said)
        assert said.count("report.html") >= 2, said
        tried[what] += 1
    assert tried.total() > NUMBER * 0.9
    assert len(tried) > 30, tried


def test_a_style_sheet_that_nobody_knows(
    ledger: Ledger, three: Verifiers, tmp_path: Path
) -> None:
    """It may be one of a later muniment, or hide what is cited: nobody can tell."""

    def restyled(page: str) -> bytes:
        return page.replace(HEAD, page_head("data{display:none}")).encode()

    path = written_with(ledger, runs(ledger)[0], tmp_path / "b", restyled)
    codes, said = three.codes(path)
    assert codes == (3, 3, 3), said
    assert "report.html" in said


def test_a_page_that_is_no_text(
    ledger: Ledger, three: Verifiers, tmp_path: Path
) -> None:
    """Bytes that are not UTF-8, and none at all, are refused."""
    for number, data in enumerate((b"\xff", b"", b"\xef\xbb\xbf")):
        place, change = tmp_path / f"{number}", partial(_given, data)
        path = written_with(ledger, runs(ledger)[0], place, change)
        assert three.codes(path)[0] == (1, 1, 1)
