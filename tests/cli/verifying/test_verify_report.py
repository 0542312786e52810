"""`muniment verify` of a page: each value that cites an event, beside the ledger."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from muniment import Run
from muniment.ledger import Ledger


def program(run: Run) -> int:
    """State a claim, and ask once."""
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    run.effect("tool", {"name": "search"}, lambda request: request)
    return 170_017_017


@pytest.fixture
def page(shell: Any, work: Path) -> Path:
    """Give a ledger here, with a run and its page."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        run = ledger.execute(program).run_id
    assert shell("report", run, "-o", "report.html").code == 0
    return work / "report.html"


def both(shell: Any, *line: object) -> tuple[Any, Any]:
    """Return what is said to people, and the document; the exit code is one."""
    told, document = shell("verify", *line), shell("verify", *line, "--json")
    assert told.code == document.code
    return told, document.json


def change(page: Path, old: str, new: str) -> None:
    """Replace *old* on the page."""
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new))


def test_a_page_that_agrees(shell: Any, page: Path) -> None:
    """It says what was compared, and with which run."""
    told, document = both(shell, page.name)
    checked = document["page"]

    assert (told.code, document["ok"], document["exit_code"]) == (0, True, 0)
    assert (checked["verdict"], checked["findings"]) == ("agrees", [])
    assert f"agrees         {checked['compared']} values compared" in told.out
    assert checked["compared"] > 40
    assert checked["run"] in told.out
    assert "integrity     intact" in told.out
    assert told.err == ""


def test_a_page_that_lacks_something(shell: Any, page: Path) -> None:
    """Each value on it holds, and it is no pass: what the report has there is said."""
    change(page, "<p>The run reached no verdict.</p>\n", "")
    told, document = both(shell, page)
    (found,) = document["page"]["findings"]

    assert (told.code, document["page"]["verdict"]) == (3, "cannot tell")
    assert f"{page}:{found['line']}: page" in told.out
    assert "'<p>The run reached no verdict.</p>', the page '<" in told.out
    assert "words of the page are those of whoever sent it" in told.err


def test_each_value_that_differs_is_named(shell: Any, page: Path) -> None:
    """With its event, its path, what the page says, and what the ledger says."""
    change(page, '<data value="170017017"', '<data value="180018018"')
    told, document = both(shell, page)
    (found,) = document["page"]["findings"]

    assert (told.code, document["ok"], document["integrity"]) == (1, False, "intact")
    assert (found["page"], found["ledger"], found["path"]) == (
        "180018018",
        "170017017",
        "/result",
    )
    assert "the ledger says 170017017, the page 180018018\n" in told.out
    assert f"{page}:{found['line']}: {found['event']}/result" in told.out


def test_markdown(shell: Any, page: Path) -> None:
    """The other form is compared in the same way."""
    run = shell("verify", page, "--json").json["page"]["run"]
    assert shell("report", run, "-o", "report.md").code == 0
    told, document = both(shell, "report.md")
    assert (told.code, document["page"]["verdict"]) == (0, "agrees")
    assert document["page"]["compared"] > 30
    change(page.with_suffix(".md"), ": `170017017` [", ": `180018018` [")
    told, document = both(shell, "report.md")
    (found,) = document["page"]["findings"]

    assert (told.code, found["page"], found["ledger"]) == (1, "180018018", "170017017")


def test_many_differences(shell: Any, page: Path) -> None:
    """People see the first twenty and how many there are; the document has all."""
    change(page, '<data value="', '<data value="1')
    told, document = both(shell, page)
    findings = document["page"]["findings"]

    assert (told.code, len(findings)) == (1, document["page"]["compared"])
    assert told.out.count("✗ wrong: ") == 20
    assert f"and {len(findings) - 20} more" in told.out


def test_a_page_of_another_ledger(shell: Any, page: Path, tmp_path: Path) -> None:
    """Nothing of it can be compared here, and that is no pass."""
    with Ledger.create(tmp_path / "other.db") as ledger:
        ledger.execute(program)
    told, document = both(shell, page, *("--trust-on-first-use",))
    assert told.code == 0
    told = shell("--ledger", tmp_path / "other.db", "verify", page)

    assert told.code == 3
    assert "the ledger has no run" in told.out
    assert document["page"]["compared"] > 40


def test_a_page_that_cites_nothing(shell: Any, page: Path) -> None:
    """Words alone are no report."""
    start, _, rest = page.read_text().partition("<section>")
    page.write_text(start + rest[rest.index("</main>") :])
    told, document = both(shell, page)

    assert (told.code, document["page"]["compared"]) == (3, 0)
    assert "it cites nothing" in told.out


def test_a_page_that_agrees_with_a_forged_ledger(shell: Any, page: Path) -> None:
    """What does not verify bears nothing out: the page is not compared with it."""
    place = page.parent / ".muniment" / "ledger.db"
    with closing(sqlite3.connect(place)) as forger, forger:
        forger.execute("DROP TRIGGER event_no_update")
        forger.execute(
            "UPDATE event SET signature = zeroblob(64) WHERE type = 'claim.stated'"
        )
    told, document = both(shell, page)

    assert (told.code, document["integrity"]) == (1, "wrong")
    assert document["page"]["verdict"] == "cannot tell"
    assert "the page was not compared" in told.out


def test_a_ledger_that_nobody_vouched_for(
    shell: Any, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's ledger agrees with the stranger's page: the root has to be given."""
    root = shell("keys", "--json").json
    (keyid,) = (one["keyid"] for one in root if "root" in one["roles"])
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "another"))
    told, document = both(shell, page)

    assert (told.code, document["authenticity"]) == (3, "self-asserted")
    assert document["page"]["verdict"] == "agrees"
    assert f"muniment verify {page} --pin" in told.err
    assert shell("verify", page, "--pin", keyid).code == 0


def test_no_ledger_at_hand(
    shell: Any, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to compare the page with."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    told = shell("verify", page)

    assert (told.code, told.out) == (3, "")
    assert "there is no ledger here" in told.err


@pytest.mark.parametrize(
    "what", ["nothing", "fifo", "large", "latin", "link to a fifo"]
)
def test_what_is_no_page(shell: Any, page: Path, what: str) -> None:
    """One line, without reading what never ends."""
    place = page.with_name("odd.html")
    if what == "fifo":
        os.mkfifo(place)
    elif what == "link to a fifo":
        os.mkfifo(place.with_name("pipe"))
        place.symlink_to("pipe")
    elif what == "large":
        with place.open("wb") as file:
            file.truncate((16 << 20) + 1)
    elif what == "latin":
        place.write_bytes(page.read_bytes().replace(b"c1", b"\xe9"))
    told = shell("verify", place)

    assert (told.code, told.out) == (3, "")
    assert "the page cannot be read" in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["", "\0", "<a " * 300_000, "<!--" * 300_000, "\x1b[2J\u202e<b>" * 9]
)
def test_texts_that_are_no_report(shell: Any, page: Path, text: str) -> None:
    """They are named as such; nothing in them acts on the terminal."""
    whole = page.read_text()
    page.write_text(text)
    told, _ = both(shell, page)
    page.write_text(whole.replace("<main>", f"<main>{text}<b>"))
    inside, document = both(shell, page)

    assert (told.code, inside.code) == (3, 3)
    assert document["page"]["findings"]
    assert not {"\x1b", "\u202e", "\0"} & set(told.out + inside.out)
    assert len(inside.out) < 20_000


def test_a_page_that_is_older_than_the_ledger(shell: Any, page: Path) -> None:
    """It agrees with what it is about; that there is more by now is said."""
    before = shell("verify", page)
    with Ledger.open(page.parent / ".muniment" / "ledger.db") as ledger:
        size = ledger.head.size
        ledger.execute(program)
        now = ledger.head.size
    after = shell("verify", page)

    assert (before.code, after.code) == (0, 0)
    assert f"in the first {size} events" in before.out
    assert f"in the first {size} of {now} events" in after.out
    assert "What came later" not in before.err
    assert "What came later, such as other runs of its claims," in after.err
