"""Every way by which contents of a run come to somebody: commands, exports, pages, calls.

    for name, text in ways_out(shell, ledger_path, run, sessions): …

Rule: what holds evidence whole is not among them: the ledger file, backups, and the blobs
of a bundle that is not redacted.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from muniment.ledger import Ledger
from muniment_plugins.workflow import agent_records, run_record
from muniment_plugins.workflow.records.record import walks_graph
from muniment_plugins.workflow.sessions import agent_session_snapshot

__all__ = ["asked_for", "ways_out"]

Shell = Callable[..., Any]
_OF_RUNS = (
    ("runs", "show"),
    ("runs", "show", "--full"),
    ("runs", "show", "--json"),
    ("runs", "explain"),
    ("runs", "explain", "--json"),
    ("runs", "tree"),
    ("runs", "tree", "--json"),
    ("inspect",),
    ("inspect", "--json"),
    ("events", "--json", "--run"),
    ("events", "--run"),
    ("workflow", "mail", "--json"),
    ("replay", "--json"),
)
_OF_ALL = (
    ("runs", "list", "--json"),
    ("status", "--json"),
    ("inbox",),
    ("query", "SELECT * FROM effects"),
)
_FORMATS = ("csv", "otlp", "prov", "ro-crate")


def ways_out(
    shell: Shell, ledger: Ledger, run: str, sessions: Iterable[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield each way out and what comes out there, of *run* and of *sessions*."""
    for words in _OF_RUNS:
        yield _said(shell, *words, run)
    for words in _OF_ALL:
        yield _said(shell, *words)
    for event in ledger.events(run=run):
        yield _said(shell, "events", "show", event.seq, "--full")
        yield _said(shell, "events", "show", event.seq, "--json")
    for one in sessions:
        for more in ((), ("--all",), ("--json",), ("--all", "--json")):
            yield _said(shell, "sessions", "show", one, *more)
        yield f"snapshot of {one}", str(agent_session_snapshot(ledger, one))
    yield _said(shell, "sessions", "list", "--all", "--json")
    yield from _files(shell, ledger, run)
    if walks_graph(ledger, run):
        yield "run_record", str(run_record(ledger, run))
        yield "agent_records", str(agent_records(ledger, run))
        yield _said(shell, "runs", "fixture", run)


def asked_for(
    shell: Shell, ledger: Ledger, run: str, sessions: Iterable[str] = ()
) -> str:
    """Return what comes out where private parts are asked for."""
    told = [_said(shell, "runs", "show", run, "--full", "--private")[1]]
    told.append(_said(shell, "runs", "show", run, "--json", "--private")[1])
    told += [
        _said(shell, "events", "show", event.seq, "--full", "--private")[1]
        for event in ledger.events(run=run)
    ]
    told += [
        _said(shell, "sessions", "show", one, "--all", "--private")[1]
        for one in sessions
    ]
    return "\n".join(told)


def _said(shell: Shell, *words: object) -> tuple[str, str]:
    found = shell(*words)
    return " ".join(map(str, words)), found.out + found.err


def _files(shell: Shell, ledger: Ledger, run: str) -> Iterator[tuple[str, str]]:
    place = ledger.path.parent / f"out-{run}"
    place.mkdir()
    for name in _FORMATS:
        made = place / f"run.{name}"
        said = _said(shell, "export", run, "--format", name, "-o", made)
        yield said
        assert made.exists(), said
        yield f"export {name}", _read(made)
    for ending in ("html", "md"):
        page = place / f"page.{ending}"
        said = _said(shell, "report", run, "-o", page)
        assert page.exists(), said
        yield f"report {ending}", page.read_text()
    redacted, whole = place / "redacted.zip", place / "whole.zip"
    said = _said(shell, "bundle", run, "--redact", "-o", redacted)
    assert redacted.exists(), said
    yield "bundle --redact", _read(redacted)
    most = place / "most.zip"
    wide = ("--disclose", "*", "--disclose", "*/*")
    said = _said(shell, "bundle", run, "--redact", *wide, "-o", most)
    yield said
    assert most.exists() or "all that it names is private" in said[1], said
    if most.exists():
        yield "bundle --redact --disclose '*/*'", _read(most)
    said = _said(shell, "bundle", run, "-o", whole)
    assert whole.exists(), said
    with zipfile.ZipFile(whole) as bundle:
        for name in bundle.namelist():
            if "blob" not in name:
                yield f"bundle, {name}", bundle.read(name).decode("utf-8", "replace")
    page = place / "of-bundle.html"
    said = _said(shell, "report", whole, "-o", page)
    assert page.exists(), said
    yield "report of a bundle", page.read_text()
    for name in _FORMATS:
        made = place / f"bundle.{name}"
        said = _said(shell, "export", whole, "--format", name, "-o", made)
        assert made.exists(), said
        yield f"export {name} of a bundle", _read(made)


def _read(path: Path) -> str:
    """Return all that is in a file, or in those of an archive."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes().decode("utf-8", "replace")
    with zipfile.ZipFile(path) as archive:
        return "\n".join(
            archive.read(name).decode("utf-8", "replace") for name in archive.namelist()
        )
