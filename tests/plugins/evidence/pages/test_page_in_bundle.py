"""The report in a bundle says what the bundle says, whoever wrote it."""

from __future__ import annotations

import html
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
from muniment.encoding.canonical import canonical
from muniment.ledger import Ledger
from muniment.verification.page.frame import page_head
from muniment.verification.page.quotes import as_ascii, reference
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


def _citing(page: str, value: Any, **cited: str) -> bytes:
    """Cite once more at the end of the page, as a report does."""
    told = canonical(value).decode()
    marks = {f"data-{name}": one for name, one in cited.items()}
    every = {"value": told, **marks, "title": reference(marks)}
    said = "".join(
        f' {name}="{html.escape(as_ascii(one))}"' for name, one in every.items()
    )
    data = f"<data{said}>{html.escape(told)}</data>"
    before, end, after = page.rpartition("</section>")
    return f"{before}<p>{data}</p>\n{end}{after}".encode()


VALUE = [None, True, {"x": 1e-7}]
POINTERS = {
    '/details/b"%é~0~1': (VALUE, True),
    '/details/b"%é~~1': (VALUE, False),
    "/details/~0": (0, True),
    "/details/~": (0, False),
    "/details/~2": (0, False),
    "/details/x~": (0, False),
    "/~/n": (0, False),
    "details/n": (0, False),
}


@pytest.mark.parametrize("path", POINTERS)
def test_a_pointer_is_one(
    ledger: Ledger, three: Verifiers, tmp_path: Path, path: str
) -> None:
    """Whether it leads to a value or a sum is over it, each ``~`` begins an escape."""
    value, good = POINTERS[path]
    run = runs(ledger)[0]
    (noted,) = ledger.events(run=run, type="note.added", limit=1)
    rules = {"rule": "sum", "run": run, "type": "note.added", "path": path}
    events = {"event": str(noted.seq), "path": path}
    heads = {"event": str(noted.seq), "head": path}
    leading = [rules, *([events] if value != 0 else [])]  # a sum passes over the rest
    for number, cited in enumerate(leading if good else [rules, events, heads]):
        said = 0 if cited is rules else value
        change = partial(_citing, value=said, **cited)
        path_of = written_with(ledger, run, tmp_path / f"{number}", change)
        if good:
            three.take(path_of)
        else:
            three.refuse(path_of, "report.html")
