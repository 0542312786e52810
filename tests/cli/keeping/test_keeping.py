"""Keeping a ledger: compare, back up, rebuild, erase, forget, look after."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment_cli.diagnosis import layer_advice
from muniment_plugins.capsule import machine


def note(path: Path, text: str, times: int = 1) -> None:
    """Append, as a program would."""
    with Ledger.open(path) as ledger:
        for _ in range(times):
            ledger.append("note.added", {"text": text})


@pytest.fixture
def fork(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tell a second story with the same keys, in a copy of file and home."""
    copy, home = tmp_path / "fork.db", tmp_path / "fork-home"
    shutil.copytree(os.environ["MUNIMENT_HOME"], home)
    shutil.copy(made, copy)
    note(made, "first story", 2)
    with monkeypatch.context() as other:
        other.setenv("MUNIMENT_HOME", str(home))
        note(copy, "second story", 2)
        note(copy, "and on")
    return copy


def test_a_copy_is_consistent(shell: Any, made: Path) -> None:
    """A shorter copy: exit 0 either way round, with the proof."""
    shell("backup", "copy.db")
    note(made, "more", 5)
    for line in ((made, "copy.db"), ("copy.db", made)):
        done = shell("compare", *line, "--json")
        assert (done.code, done.json["verdict"]) == (0, "consistent")
        assert done.json["proof"]
        assert (done.json["older"]["size"], done.json["newer"]["size"]) == (2, 7)
        said = shell("compare", *line).out.splitlines()[0]
        assert said == f"consistent: 2 events in common, 5 more in {made}"
    assert shell("compare", made, made).out.startswith("same: 7 events")


def test_a_backup_into_a_directory_to_be_made(shell: Any, made: Path) -> None:
    """A name that ends in a slash is a directory's, also before it is there."""
    assert made.exists()
    Path("safe").mkdir()
    assert shell("backup", "safe/friday/").code == 0
    assert Path("safe/friday/ledger.db").is_file()


def test_a_fork_is_shown_by_two_signed_roots(
    shell: Any, made: Path, fork: Path
) -> None:
    """Exit 1; two notes of one size, both signed, unequal roots; the first event."""
    done = shell("compare", made, fork, "--json")
    assert (done.code, done.json["verdict"]) == (1, "fork")
    older, newer = done.json["older"], done.json["newer"]
    assert older["size"] == newer["size"] == 4
    assert older["root"] != newer["root"]
    assert older["signer"] == newer["signer"]
    assert done.json["first_difference"] == 2
    plain = shell("compare", made, fork)
    assert plain.code == 1
    lines = [one.removeprefix("note") for one in plain.out.splitlines()]
    for side in (older, newer):
        said = [one.strip() for one in lines]
        assert all(one in said for one in side["note"].splitlines())
    assert not [one for one in lines if one.startswith("\u2014")]  # a signature's line


def test_notes_are_compared_too(shell: Any, made: Path, fork: Path) -> None:
    """A kept note against ledgers and notes: agrees, contradicts, cannot tell."""
    shell("checkpoint", "--json")
    Path("kept.note").write_text(shell("checkpoint").out)
    assert shell("compare", "kept.note", made).code == 0
    assert shell("compare", "kept.note", fork).code == 1
    assert shell("compare", "kept.note", "kept.note").code == 0
    note(made, "later")
    Path("later.note").write_text(shell("checkpoint").out)
    assert shell("compare", "kept.note", made).code == 0
    undecided = shell("compare", "kept.note", "later.note")
    assert undecided.code == 3
    assert "compare/behind" in undecided.err


def test_a_forged_note_is_no_evidence(shell: Any, made: Path) -> None:
    """A note whose signature is wrong is refused, not called a fork."""
    text = shell("checkpoint").out
    lines = text.split("\n")
    lines[2] = "A" * 43 + "="
    Path("forged.note").write_text("\n".join(lines))
    done = shell("compare", "forged.note", made)
    assert done.code == 1
    assert "note/signature" in done.err


def test_two_ledgers_are_not_a_fork(shell: Any, made: Path) -> None:
    """Different ledgers are called different, exit 1."""
    shell("init", "other.db")
    done = shell("compare", made, "other.db", "--json")
    assert (done.code, done.json["verdict"]) == (1, "foreign")


def test_a_backup_verifies_and_is_never_overwritten(
    shell: Any, made: Path, tmp_path: Path
) -> None:
    """The copy holds all events and contents, large ones too; a second is refused."""
    with Ledger.open(made) as ledger:
        big = {"text": "big", "details": "x" * 3_000_000}
        ledger.append("note.added", big)
    target = tmp_path / "safe" / "friday.db"
    target.parent.mkdir()
    done = shell("backup", target, "--json")
    assert (done.code, done.json["size"], done.json["contents"]) == (0, 3, 1)
    with Ledger.open(target, readonly=True) as copy:
        assert copy.resolve(copy.event(2))["details"] == "x" * 3_000_000
    assert shell("verify", target).code == 0
    before = target.read_bytes()
    again = shell("backup", target)
    assert again.code == 4
    assert target.read_bytes() == before
    assert shell("backup", tmp_path).code == 0
    assert (tmp_path / "ledger.db").exists()
    assert not [path for path in target.parent.iterdir() if path.name[0] == "."]


def test_a_backup_beside_a_writer(shell: Any, made: Path) -> None:
    """Copies that are made while another process appends are whole."""
    code = (
        "import sys, muniment\n"
        "with muniment.Ledger.open(sys.argv[1]) as ledger:\n"
        "    print('go', flush=True)\n"
        "    for i in range(400):\n"
        "        ledger.append('note.added', {'text': str(i), 'details': 'd' * 200})\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(made)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        sizes = []
        for number in range(5):
            done = shell("backup", f"copy{number}.db", "--json")
            assert done.code == 0, done.err
            sizes.append(done.json["size"])
    assert writer.returncode == 0
    assert sizes == sorted(sizes)
    for number in range(5):
        assert shell("compare", f"copy{number}.db", made).code == 0
        found = shell("verify", f"copy{number}.db", "--json").json["findings"]
        assert {one["kind"] for one in found} <= {"rolled-back"}


def test_rebuild_deletes_the_cache_and_changes_nothing(shell: Any, made: Path) -> None:
    """The cache is made anew; the answers are the same."""
    with Ledger.open(made) as ledger, ledger.run("one"):
        pass
    before = shell("runs", "--json").out
    assert shell("rebuild").code == 0
    cache = made.with_name("cache.db")
    cache.write_bytes(b"garbage")
    done = shell("rebuild", "--json")
    assert (done.code, done.json["runs"]) == (0, 1)
    assert shell("runs", "--json").out == before


def test_erase_takes_the_bytes_and_leaves_the_chain(shell: Any, made: Path) -> None:
    """The content is nowhere in the file; verify holds and says erased."""
    with Ledger.open(made, readonly=True) as ledger:
        ref = ledger.event(1).data["details"].digest  # type: ignore[attr-defined]
    assert b"s3cret" in b"".join(p.read_bytes() for p in made.parent.iterdir())
    line = ("erase", ref[:20], "--reason", "a password", "--legal-basis", "GDPR 17")
    done = shell(*line)
    assert done.code == 0
    assert done.out.startswith("erased 1 blob,")
    assert b"s3cret" not in b"".join(p.read_bytes() for p in made.parent.iterdir())
    checked = shell("verify", "--json")
    assert (checked.code, checked.json["erased"]) == (0, 1)
    again = shell(*line)
    assert again.code == 3
    assert "blob/erased" in again.err
    assert shell("erase", ref).code == 2


def test_forget_drops_the_place_only(shell: Any, made: Path) -> None:
    """A forgotten place is not known; the pins of the ledger stay."""
    done = shell("forget", made, "--json")
    assert (done.code, done.json["forgotten"]) == (0, str(made))
    assert shell("verify", made).code == 0
    assert shell("forget", made).code == 0  # what that verification saw there
    again = shell("forget", made)
    assert again.code == 2
    assert "trust/location" in again.err


def test_status_shows_what_is_there(shell: Any, made: Path) -> None:
    """Head, anchors, keys and open runs, for people and for programs."""
    with Ledger.open(made) as ledger, ledger.run("in the middle") as run:
        facts = shell("status", "--json").json
        assert facts["open_runs"] == [run.id]
        assert run.id in shell("status").out
    facts = shell("status", "--json").json
    assert facts["open_runs"] == []
    assert facts["size"] == facts["checkpointed"] == facts["remembered"]
    assert facts["anchored"].startswith(f"anchored to {facts['size']} of ")
    assert facts["pinned"] == [facts["root"]]
    assert facts["writable"] is True
    assert len(facts["recovery"]) == 2
    assert facts["isolation"] in {"process", "os-partial", "os-strong"}


def test_checkpoint_prints_a_note_and_publishes_again(
    shell: Any, made: Path, home: Path
) -> None:
    """The note is the answer, byte for byte; --publish carries it out again."""
    first, second = shell("checkpoint"), shell("checkpoint", "--publish")
    assert (first.code, first.out) == (0, second.out)
    assert first.out.encode() == shell("checkpoint", "--json").json["note"].encode()
    (anchors,) = home.glob("ledgers/*/anchors.jsonl")
    notes = [json.loads(line)["note"] for line in anchors.read_text().splitlines()]
    assert notes[-1] == notes[-2] == first.out
    assert made.exists()


def test_doctor_names_what_to_do(shell: Any, made: Path, home: Path) -> None:
    """Recovery files that are still here get a remedy; an open key file exits 1."""
    found = {one["name"]: one for one in shell("doctor", "--json").json}
    assert found["recovery"]["verdict"] == "warn"
    assert "move them" in shell("doctor").out
    assert found["anchored"]["verdict"] == "ok"
    for path in home.glob("ledgers/*/recovery/*.pem"):
        path.unlink()
    found = {one["name"]: one for one in shell("doctor", "--json").json}
    assert found["recovery"]["verdict"] == "ok"
    (key,) = home.glob("ledgers/*/keys/writer.pem")
    key.chmod(0o644)
    done = shell("doctor")
    assert done.code == 1
    assert "writer.pem" in done.out
    assert made.exists()


def test_doctor_without_a_ledger(shell: Any) -> None:
    """The machine can be examined before there is a ledger."""
    done = shell("doctor", "--json")
    assert done.code == 0
    names = [one["name"] for one in done.json]
    assert {"python", "sqlite", "clock", "trust home", "plugin", "isolation"} <= {
        *names
    }


def test_doctor_says_what_the_capsule_misses(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without Landlock is a warning, with its reason and what would help."""
    lacking = {"bounding": "EPERM", "landlock": "EOPNOTSUPP"}
    weak = machine.Machine("os-partial", {}, lacking)
    monkeypatch.setattr(machine, "machine", lambda: weak)
    monkeypatch.setattr(layer_advice.MachineFacts, "here", layer_advice.MachineFacts)
    found = {one["name"]: one for one in shell("doctor", "--json").json}
    assert found["isolation"]["verdict"] == found["layer"]["verdict"] == "warn"
    assert found["isolation"]["seen"] == "os-partial; missing: landlock EOPNOTSUPP"
    assert found["layer"]["seen"] == "no landlock EOPNOTSUPP"
    done = shell("doctor")
    assert done.code == 0
    assert "→ layer: add landlock to lsm= on the kernel's command line" in done.out
    monkeypatch.setattr(machine, "machine", lambda: machine.Machine("os-strong", {}))
    found = {one["name"]: one for one in shell("doctor", "--json").json}
    assert found["isolation"] == {
        "name": "isolation",
        "remedy": "",
        "seen": "os-strong",
        "verdict": "ok",
    }
    assert "layer" not in found


@pytest.mark.parametrize(
    ("floor", "code", "seen", "remedy"),
    [
        ("os-partial", 0, "os-partial, by MUNIMENT_REQUIRE", ""),
        (
            "os-strong",
            1,
            (
                "MUNIMENT_REQUIRE: os-strong isolation is required, "
                "this capsule gives os-partial"
            ),
            "run it in a container or virtual machine, or lower the floor",
        ),
        (
            "strong",
            1,
            "MUNIMENT_REQUIRE: 'strong' is not an isolation level",
            "use one of none, process, engine, os-partial, os-strong",
        ),
    ],
)
def test_doctor_holds_the_machine_against_the_floor(
    shell: Any,
    monkeypatch: pytest.MonkeyPatch,
    floor: str,
    code: int,
    seen: str,
    remedy: str,
) -> None:
    """Where nothing would be run, the examination fails, and says why."""
    weak = machine.Machine("os-partial", {}, {"landlock": "ENOSYS"})
    monkeypatch.setattr(machine, "machine", lambda: weak)
    monkeypatch.setenv("MUNIMENT_REQUIRE", floor)
    done = shell("doctor", "--json")
    (found,) = (one for one in done.json if one["name"] == "floor")
    assert (done.code, found["seen"], found["remedy"]) == (code, seen, remedy)


def test_doctor_counts_as_people_do(shell: Any) -> None:
    """One event is not said to be events."""
    assert shell("init").code == 0
    out = shell("doctor").out
    assert "✓ 1 event, 1 remembered" in out
    assert "✓ 1 of 1 event under a signed head" in out
    assert "✓ to 1 of 1, by the writer's own user" in out


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ((3, 40, 1), "warn"),
        ((3, 44, 5), "warn"),
        ((3, 44, 6), "ok"),
        ((3, 50, 7), "ok"),
        ((3, 51, 2), "warn"),
        ((3, 51, 3), "ok"),
        ((3, 53, 0), "ok"),
    ],
)
def test_doctor_knows_the_wal_reset_bug(
    shell: Any,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, int, int],
    verdict: str,
) -> None:
    """SQLite before 3.51.3 is warned of, its repaired branches are not."""
    monkeypatch.setattr("sqlite3.sqlite_version_info", version)
    found = {one["name"]: one for one in shell("doctor", "--json").json}
    assert found["sqlite"]["verdict"] == verdict
