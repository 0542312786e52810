"""``muniment events`` and ``query``: what was recorded, as it was."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

import muniment
from muniment.keys.ed25519 import PublicKey
from programs import write_program

INSTALLED = Path(sys.executable).with_name("muniment")


@pytest.fixture
def good(made: Path, shell: Any, work: Path) -> str:
    """Run a program that completes; return the run's id."""
    assert made.exists()
    file = write_program(work)
    return ran(shell, f"{file.name}:triage", "-p", "ticket=T-1", "--label", "team=x")


def ran(shell: Any, *arguments: str) -> str:
    """Run a program and return the run's id."""
    return str(shell("run", *arguments, "--json").json["run"])


@pytest.mark.parametrize(
    ("options", "types"),
    [
        ("--type note.added", ["note.added"]),
        ("--type llm.*,note.*", ["llm.completed", "llm.requested", "note.added"]),
        ("--type llm.* --order asc", ["llm.requested", "llm.completed"]),
        ("--limit 1", ["run.completed"]),
        ("--until 2020-01-01", []),
        ("--actor nobody", []),
        ("--tenant other", []),
        ("--grep nothing-of-the-kind", []),
        ("--type claim.* --grep c1", ["claim.stated"]),
    ],
)
def test_events_are_filtered(
    shell: Any, good: str, options: str, types: list[str]
) -> None:
    """Filters narrow and combine; the newest come first."""
    assert good
    listed = shell("events", *options.split(), "--json").json
    assert [one["type"] for one in listed] == types
    streamed = shell("events", "list", *options.split(), "--jsonl").out.splitlines()
    assert [json.loads(line)["type"] for line in streamed] == types


def test_events_of_a_run_and_about_a_subject(shell: Any, good: str) -> None:
    """A run by its prefix, a content by its commitment."""
    listed = shell("events", "--run", good[:22], "--json").json
    assert {one["run"] for one in listed} == {good}
    digest = listed[0]["data"]["result"]["$blob"]
    about = shell("events", "--subject", digest, "--json").json
    assert [one["type"] for one in about] == ["run.completed"]
    for length in (7 + 12, 7 + 13):  # whole bytes, and half a byte
        begun = shell("events", "--subject", digest[:length], "--json").json
        assert begun == about


def test_a_digest_that_begins_several(shell: Any, made: Path) -> None:
    """A prefix of more than one digest is not an answer."""
    digests = [f"sha256:{'ab' * 31}c{end}" for end in "01"]
    with muniment.Ledger.open(made) as ledger:
        for one in digests:
            ledger.append("note.added", {"text": one[-1]}, subject=[("f", one)])
    done = shell("events", "--subject", "sha256:ababababab")
    assert (done.code, "more than one digest" in done.err) == (2, True)
    shown = shell("events", "--subject", digests[1], "--json").json
    assert [one["data"]["text"] for one in shown] == ["1"]


def test_people_see_fifty_events_at_most(shell: Any, made: Path) -> None:
    """More are said to be there; a limit shows them, machines get all."""
    assert made.exists()
    with muniment.open() as ledger:
        ledger.append_many([("note.added", {"text": "x"})] * 60)
    done = shell("events")
    assert len(done.out.splitlines()) == 51
    assert "--limit shows more" in done.err
    assert len(shell("events", "--json").json) == 62


def test_control_characters_are_shown_not_obeyed(shell: Any, made: Path) -> None:
    """A hostile text cannot write to the terminal."""
    assert made.exists()
    with muniment.open() as ledger:
        ledger.append("note.added", {"text": "\x1b[2J\x1b]0;owned\x07"})
    for command in (["events"], ["events", "show", "2"], ["events", "tail"]):
        out = shell(*command).out
        assert "\x1b" not in out
        assert "\x07" not in out


def test_an_event_is_shown_whole(shell: Any, made: Path) -> None:
    """The statement as it was signed, and the contents behind the commitments."""
    assert made.exists()
    done = shell("events", "show", "1")
    assert '"predicateType": "urn:muniment:event:note.added:v1"' in done.out
    assert "s3cret" in done.out
    document = shell("events", "show", "1", "--json").json
    assert document["contents"]["details"]["value"] == {"secret": "s3cret"}
    assert document["event"]["seq"] == 1
    assert document["statement"]["_type"] == "https://in-toto.io/Statement/v1"


def test_a_large_blob_is_shortened_for_people(shell: Any, made: Path) -> None:
    """What is left out is counted; ``--full`` and ``--json`` leave nothing out."""
    assert made.exists()
    large = {"line": "x" * 100_000, "list": list(range(10_000))}
    with muniment.open() as ledger:
        seq = ledger.append("note.added", {"text": "x", "details": large}).seq
    short = shell("events", "show", str(seq)).out
    assert len(short) < 20_000
    assert "characters more" in short
    assert "lines more" in short
    assert "--full" in short
    full = shell("events", "show", str(seq), "--full").out
    assert "x" * 100_000 in full
    assert "  9999\n" in full
    assert " more" not in full
    document = shell("events", "show", str(seq), "--json").json
    assert document["contents"]["details"]["value"] == large


def test_the_raw_payload_is_the_signed_bytes(installed: Any, made: Path) -> None:
    """``--raw`` prints them and nothing else, so that they can be hashed."""
    assert made.exists()
    with muniment.open(readonly=True) as ledger:
        genesis = ledger.event(0)
        ledger_id = ledger.id
    out = installed("events", "show", "0", "--raw").out.encode()
    assert out == genesis.payload
    assert "sha256:" + hashlib.sha256(out).hexdigest() == ledger_id


def test_the_envelope_is_accepted_by_others(shell: Any, made: Path) -> None:
    """Securesystemslib verifies ``--envelope`` under the signer's key."""
    assert made.exists()
    document = shell("events", "show", "1", "--envelope").json
    with muniment.open(readonly=True) as ledger:
        event = ledger.event(1)
    public = PublicKey(event.key)
    value = {"public": event.key.hex()}
    key = SSlibKey(public.keyid, "ed25519", "ed25519", value)
    envelope = Envelope.from_dict(document)
    assert public.keyid in envelope.verify([key], 1)
    assert envelope.payload == event.payload


def test_an_event_that_is_not_there_is_a_usage_error(shell: Any, made: Path) -> None:
    """The message says which is the last; two forms at once are refused too."""
    assert made.exists()
    done = shell("events", "show", "99")
    assert done.code == 2
    assert "the last is 1" in done.err
    assert shell("events", "show", "1", "--raw", "--json").code == 2
    assert shell("events", "show", "-1").code == 2
    assert shell("events", "--since", "long ago").code == 2


def test_nothing_found_is_said(shell: Any, made: Path) -> None:
    """An empty table says why on stderr, and names the type that may be meant."""
    assert made.exists()
    done = shell("events", "--type", "note.aded")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert "did you mean note.added?" in done.err
    assert "no event passes these filters" in shell("events", "--type", "x.*").err
    machine = shell("events", "--type", "note.aded", "--json")
    assert (machine.json, machine.err) == ([], "")
    assert "nothing was run yet: `muniment run FILE`" in shell("runs").err


def test_an_event_is_called_by_its_number(shell: Any, made: Path) -> None:
    """Anything else in its place is told what an event is called by."""
    assert made.exists()
    done = shell("events", "show", "abc")
    assert (done.code, done.out) == (2, "")
    assert "an event is called by its number, not 'abc'" in done.err


def test_the_tail_is_the_newest_oldest_first(shell: Any, good: str) -> None:
    """As ``tail`` does; machines get lines of JSON."""
    assert good
    lines = shell("events", "tail", "-n", "2", "--jsonl").out.splitlines()
    types = [json.loads(line)["type"] for line in lines]
    assert types[-1] == "run.completed"
    assert len(types) == 2
    assert shell("events", "tail", "-n", "0").out == ""


def test_the_tail_follows(made: Path) -> None:
    """``-f`` prints events as others append them; Ctrl-C ends it without a word."""
    command = [str(INSTALLED), "--ledger", str(made), "events", "tail", "-f", "--jsonl"]
    with subprocess.Popen(
        [*command, "-n", "1", "--type", "note.*"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert json.loads(child.stdout.readline())["seq"] == 1
        with muniment.open() as ledger:
            ledger.append("claim.stated", {"id": "c", "text": "t"})
            ledger.append("note.added", {"text": "new"})
        assert json.loads(child.stdout.readline())["data"] == {"text": "new"}
        child.send_signal(signal.SIGINT)
        assert child.wait(300) == 130
        assert child.stderr.read() == ""


@pytest.mark.parametrize("command", ["events", "keys", "query SELECT*FROM(events)"])
def test_a_reader_that_stops_reading_is_no_error(made: Path, command: str) -> None:
    """``| head`` ends the command without a word."""
    with muniment.open() as ledger:
        ledger.append_many([("note.added", {"text": "x" * 300})] * 400)
    words = [str(INSTALLED), "--ledger", str(made), *command.split()]
    words += [] if command == "keys" else ["--limit", "400"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(300) in (0, 141)
        assert child.stderr.read() == ""


# -- query -------------------------------------------------------------------------


def test_a_query_answers_in_four_forms(shell: Any, made: Path) -> None:
    """A table, CSV, one document, and a document a line."""
    assert made.exists()
    select = "SELECT seq, type, run FROM events ORDER BY seq"
    table = shell("query", select).out.splitlines()
    assert table[0].split() == ["seq", "type", "run"]
    rows = list(csv.reader(io.StringIO(shell("query", "--csv", select).out)))
    assert rows[1:] == [["0", "ledger.opened", ""], ["1", "note.added", ""]]
    document = shell("query", "--json", select).json
    assert document[1] == {"seq": 1, "type": "note.added", "run": None}
    lines = shell("query", "--jsonl", select).out.splitlines()
    assert [json.loads(line) for line in lines] == document


def test_no_column_is_lost(shell: Any, made: Path) -> None:
    """Columns of one name are told apart, and every value has a JSON form."""
    assert made.exists()
    select = "SELECT 1 AS a, 2 AS a, x'00ff' AS b, 9e999 AS c"
    assert shell("query", "--json", select).json == [
        {"a": 1, "a:1": 2, "b": "00ff", "c": "inf"}
    ]


def test_what_is_cut_off_is_said(shell: Any, made: Path) -> None:
    """Rows beyond the limit, and time beyond the limit."""
    assert made.exists()
    done = shell("query", "SELECT seq FROM events", "--limit", "1", "--csv")
    assert (done.code, done.out) == (0, "seq\n0\n")
    assert "more than 1 rows" in done.err
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x + 1 FROM n) "
    done = shell("query", f"{endless} SELECT count(*) FROM n", "--timeout", "0.2")
    assert (done.code, done.out) == (4, "")
    assert "query/time" in done.err


@pytest.mark.parametrize(
    ("sql", "code"), [("SELECT * FROM blob", 4), ("DROP TABLE event", 2), ("SELECT", 2)]
)
def test_what_may_not_be_asked(shell: Any, made: Path, sql: str, code: int) -> None:
    """One line on stderr, nothing on stdout, the same with --json."""
    assert made.exists()
    for form in ([], ["--json"], ["--csv"]):
        done = shell("query", sql, *form)
        assert (done.code, done.out) == (code, "")
        assert len(done.err.splitlines()) == 1


def test_the_views_are_listed(shell: Any, made: Path) -> None:
    """``query`` alone says what there is to select from."""
    assert made.exists()
    assert "llm_calls" in shell("query").out
    assert "tenant" in shell("query", "--json").json["events"]


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(good: str, width: int) -> None:
    """On a terminal no line is wider than it, and no id is cut."""
    runs = on_terminal(["runs"], width)
    events = on_terminal(["events"], width).splitlines()
    assert good in runs
    assert max(map(len, [*runs.splitlines(), *events])) <= width
    assert len(events) == 12


def on_terminal(arguments: list[str], width: int) -> str:
    """Return what a command writes to a terminal of *width* columns."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "NO_COLOR": "1"}
    environment["TERM"] = "dumb"
    with subprocess.Popen(
        [str(INSTALLED), *arguments], stdout=writer, env=environment
    ) as child:
        os.close(writer)
        found = b""
        while True:
            try:
                chunk = os.read(reader, 65536)
            except OSError:
                break
            if not chunk:
                break
            found += chunk
        child.wait(300)
    os.close(reader)
    return found.decode().replace("\r\n", "\n")
