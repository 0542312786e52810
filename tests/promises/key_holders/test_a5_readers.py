"""Whatever a writer signed, every reading command shows it as such and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge import RUN, Forge
from malformed import TYPES, ledger_with
from muniment_cli import main

READING: dict[str, tuple[str, ...]] = {
    "status": ("status",),
    "events list": ("events", "list", "--limit", "999999"),
    "events list --json": ("events", "list", "--limit", "999999", "--json"),
    "events --grep": ("events", "list", "--grep", "after all"),
    "runs list": ("runs", "list", "--limit", "999999"),
    "runs list --json": ("runs", "list", "--limit", "999999", "--json"),
    "runs show": ("runs", "show", RUN),
    "runs explain": ("runs", "explain", RUN),
    "runs stats": ("runs", "stats"),
    "runs tree": ("runs", "tree", RUN),
    "query runs": ("query", "SELECT * FROM runs"),
    "query events": ("query", "SELECT * FROM events"),
    "rebuild": ("rebuild",),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(TYPES))
def test_malformed_events_are_read_past(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every command ends well, without a traceback, and shows the sound run."""
    forge = ledger_with(TYPES[kind])
    place = forge.write(tmp_path / "ledger.db")
    runs = sorted({row.run for row in forge.rows if row.run} - {RUN})
    commands = dict(READING)
    for number, run in enumerate(runs):
        words = ("show", "explain", "tree", "show")[number % 4]
        commands[f"runs {words} {run}"] = ("runs", words, run)
    commands["runs diff"] = ("runs", "diff", RUN, runs[-1]) if runs else ("status",)
    for row in forge.rows[:: max(1, len(forge.rows) // 25)]:
        commands[f"events show {row.seq}"] = ("events", "show", str(row.seq))
    failed: list[str] = []
    for name, line in commands.items():
        code = main(["--ledger", str(place), *line])
        out, err = capfd.readouterr()
        if code not in ((0, 1) if "diff" in name else (0,)) or "Traceback" in out + err:
            failed.append(f"{name}: {code} {err.strip()[-300:]}")
        elif name == "runs list --json" and '"sound"' not in out:
            failed.append(f"{name}: the sound run is not there")
    assert not failed, f"{len(failed)} of {len(commands)}\n" + "\n".join(failed[:25])


NO_STATEMENTS = (
    *(b"null", b"true", b"5", b'"x"', b"[]", b"{}", b"\xff\xfe", b""),
    b'{"predicate":null,"subject":[]}',
    b'{"predicate":{"data":{},"muniment":null},"subject":[]}',
    b'{"predicate":{"data":[],"muniment":{}},"subject":null}',
)


@pytest.mark.parametrize("kind", ["note.added", "run.started", "run.completed"])
@pytest.mark.parametrize("run", [None, RUN, "01JD3Z8M6Q4W0V9K2T7N5RYXZZ"])
def test_rows_that_are_no_statement(
    kind: str, run: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What the verifier refuses is shown as malformed too; the rest is read on."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "sound", "seed": "0"}, run=RUN)
    forge.end_run(RUN)
    first = len(forge.rows)
    for payload in NO_STATEMENTS:
        claim = {"predicate": {"muniment": {"type": kind, "run": run}}}
        forge.add_bytes(payload, claim, forge.key("writer"))
    forge.append("note.added", {"text": "after all of them"})
    place = forge.write(tmp_path / "ledger.db")
    commands = dict(READING)
    for seq in range(first, len(forge.rows)):
        commands[f"events show {seq}"] = ("events", "show", str(seq))
        commands[f"events show {seq} --json"] = ("events", "show", str(seq), "--json")
    failed: list[str] = []
    for name, line in commands.items():
        code = main(["--ledger", str(place), *line])
        out, err = capfd.readouterr()
        if code or "Traceback" in out + err:
            failed.append(f"{name}: {code} {err.strip()[-300:]}")
        elif name == "events list" and "malformed" not in out:
            failed.append(f"{name}: nothing is called malformed")
    assert not failed, "\n".join(failed)
