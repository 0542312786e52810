"""Whatever marked value a writer signed, no command takes it for a fault of muniment."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from forge import RUN, Forge
from muniment_cli import main

OTHER = "01JD3Z8M6Q4W0V9K2T7N5RYXCC"
TAGS = (
    "$float",
    "$int",
    "$decimal",
    "$datetime",
    "$bytes",
    "$tuple",
    "$map",
    "$ndarray",
)
VALUES: tuple[Any, ...] = (
    *({tag: told} for tag in TAGS for told in ("x", 3)),
    *({"$float": told} for told in ("3", "1e400", "inf", "1_0.0", "", None)),
    *({"$int": told} for told in ("7", "007", "9" * 5000)),
    {"$float": "1.5", "more": 2},
    {"$nothing": 1},
    {"a": [{"$float": "x"}]},
    {"$object": ["acme.Ticket", {"$int": "x"}]},
)
READING: dict[str, tuple[str, ...]] = {
    "status": ("status",),
    "verify": ("verify",),
    "events list": ("events", "list", "--limit", "999"),
    "events list --json": ("events", "list", "--limit", "999", "--json"),
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", RUN),
    "runs show --full": ("runs", "show", RUN, "--full"),
    "runs show --json": ("runs", "show", RUN, "--json"),
    "runs explain": ("runs", "explain", RUN),
    "runs tree": ("runs", "tree", RUN),
    "runs stats": ("runs", "stats"),
    "runs diff": ("runs", "diff", RUN, OTHER),
    "runs diff --accept": ("runs", "diff", RUN, OTHER, "--accept", "exact_match"),
    "inspect run": ("inspect", "run", RUN),
    "replay": ("replay", RUN, "--program", "program.py:main", "--trust-program"),
    "claims": ("claims",),
    "query": ("query", "SELECT * FROM events"),
    "report": ("report", RUN, "-o", "page.html"),
    "bundle": ("bundle", RUN, "-o", "raw", "--raw"),
    "csv": ("export", RUN, "--format", "csv", "-o", "run.csv"),
    "prov": ("export", RUN, "--format", "prov", "-o", "run.prov"),
    "otlp": ("export", RUN, "--format", "otlp", "-o", "run.otlp"),
    "ro-crate": ("export", RUN, "--format", "ro-crate", "-o", "run.json"),
}


def reference(forge: Forge, content: bytes) -> dict[str, Any]:
    """Keep *content* for the next event, behind a salt of its own."""
    salt = hashlib.sha256(b"%d" % len(forge.blobs)).digest()
    digest = hashlib.sha256(salt + content).digest()
    forge.blobs.append((digest, len(forge.rows), salt + content))
    return {"$blob": f"sha256:{digest.hex()}", "size": len(content)}


def run_with(forge: Forge, run: str, value: Any, *, kept: bool) -> None:
    """Add a run that says *value* wherever data may be anything."""

    def said() -> Any:
        return reference(forge, content) if kept else value

    content = json.dumps(value, separators=(",", ":")).encode()
    start = {"name": "x", "seed": "0" * 64, "program": {"name": "program:main"}}
    forge.append("run.started", start, run=run)
    measured = {"condition": "c", "replicate": 0, "metrics": said()}
    forge.append("metrics.measured", measured, run=run, scope="c/0")
    verdict = {"hypothesis": "h", "verifier": "v", "passed": True, "result": said()}
    forge.append("verdict.reached", verdict, run=run)
    forge.append(
        "claim.stated", {"id": "c", "text": said() if kept else "it holds"}, run=run
    )
    for verb, name in (("requested", "request"), ("completed", "value")):
        told = {name: reference(forge, content if kept else b"1")}
        forge.append(f"llm.{verb}", told, run=run, ordinal=3)
    forge.ordinals[run, ""] = 4
    forge.end_run(run, result=reference(forge, content if kept else b"1"))


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True], ids=["data", "contents"])
@pytest.mark.parametrize("value", VALUES, ids=lambda one: json.dumps(one)[:40])
def test_no_command_calls_it_a_bug(
    value: Any,
    kept: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each command shows it, or refuses it by a rule, with a place; none ends in a traceback."""
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text("def main(run):\n    return 1\n")
    forge = Forge("one").open()
    for run in (RUN, OTHER):
        run_with(forge, run, value, kept=kept)
    forge.checkpoint()
    place = forge.write(tmp_path / "ledger.db")
    main(["--ledger", str(place), "verify"])
    assert re.search(r"^integrity +intact", capfd.readouterr().out, re.MULTILINE)
    failed: list[str] = []
    for name, line in READING.items():
        code = main(["--ledger", str(place), *line])
        out, err = capfd.readouterr()
        if "cli/bug" in err or "Traceback" in out + err:
            failed.append(f"{name}: {code} {err.strip()[-300:]}")
        elif code and not out and not err.strip():
            failed.append(f"{name}: {code} without a word")
    assert not failed, "\n".join(failed)
