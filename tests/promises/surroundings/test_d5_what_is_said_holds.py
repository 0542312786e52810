"""What is said of a ledger is what happens to who acts on it.

``status`` says writable where an append succeeds; what is advised can be given; a
process that ended is not alive; an answer that cannot be printed is not a bug of ours.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

import muniment
from first_hour import Newcomer
from muniment.runs.owner import is_alive, owner
from muniment.trust import home_location
from muniment.trust.home import TrustHome
from muniment_cli import main
from muniment_cli.diagnosis.health import check_machine

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue

LEDGER = Path(".muniment/ledger.db")
PROGRAM = """
import os


def stop(request):
    if os.path.exists("again"):
        return 1
    open("again", "w").close()
    raise KeyboardInterrupt


def main(run):
    return run.effect(KIND, {"n": 1}, stop)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty directory."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def note(text: str) -> None:
    """Append a note to the ledger here."""
    with muniment.open(create=True) as ledger:
        ledger.append("note.added", {"text": text})


def newest() -> None:
    """Leave the ledger as it is."""
    note("a")


def older() -> None:
    """Put back what it was before the last event."""
    note("a")
    shutil.copy(LEDGER, "kept.db")
    note("b")
    shutil.copy("kept.db", LEDGER)


def other_history(*later: str) -> None:
    """Put back a copy that went on otherwise, while its events were forgotten."""
    note("a")
    shutil.copy(LEDGER, "kept.db")
    shutil.copytree(os.environ["MUNIMENT_HOME"], "kept-home")
    for text in later:
        note(text)
    shutil.copy(LEDGER, "other.db")
    shutil.copy("kept.db", LEDGER)
    shutil.rmtree(os.environ["MUNIMENT_HOME"])
    shutil.copytree("kept-home", os.environ["MUNIMENT_HOME"])
    note("c")
    shutil.copy("other.db", LEDGER)


def same_length() -> None:
    """Another history of the same length."""
    other_history("b")


def longer() -> None:
    """Another history, longer than the one that is remembered."""
    other_history("b", "c", "d")


def kept(name: str) -> Path:
    """Return the file below the trust home that has this name."""
    (found,) = Path(os.environ["MUNIMENT_HOME"]).glob(f"ledgers/*/*/{name}.pem")
    return found


def gone() -> None:
    """Take the writer's key away."""
    note("a")
    kept("writer").unlink()


def another_key() -> None:
    """Put a key in its place that nobody enrolled."""
    note("a")
    kept("writer").unlink()
    shutil.copy(kept("next-root"), kept("checkpoint").with_name("writer.pem"))


def no_key() -> None:
    """Put something in its place that is not a key."""
    note("a")
    kept("writer").write_text("no key")


def revoked() -> None:
    """End the writer's key, which stays where it is."""
    note("a")
    root = str(kept("root"))
    assert main(["keys", "revoke", "writer", "--root", root, "--reason", "lost"]) == 0


def checkpoint_revoked() -> None:
    """End the other key, which signs no events."""
    note("a")
    line = ["keys", "revoke", "checkpoint", "--root", str(kept("root"))]
    assert main([*line, "--reason", "lost"]) == 0


KEYS = [gone, another_key, no_key, revoked, checkpoint_revoked]


@pytest.mark.usefixtures("home", "place")
@pytest.mark.parametrize("given", [None, "writer", "checkpoint", "next-root", "none"])
@pytest.mark.parametrize("state", [newest, *KEYS])
def test_a_key_is_good_if_it_signs(
    state: Callable[[], None],
    given: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kept or given, `doctor` and `status` call a key good where an append succeeds."""
    state()
    if given is not None:
        file = next(Path(os.environ["MUNIMENT_HOME"]).glob(f"**/{given}.pem"), "none")
        monkeypatch.setenv("MUNIMENT_KEY", str(file))
    capsys.readouterr()
    main(["doctor", "--json"])
    seen = [one for one in json.loads(capsys.readouterr().out) if one["name"] == "key"]
    name = "writer: " if given is None else "MUNIMENT_KEY: "
    good = {one["verdict"] for one in seen if one["seen"].startswith(name)} == {"ok"}
    code = main(["status", "--json"])
    out = capsys.readouterr().out
    writable = code == 0 and json.loads(out)["writable"]
    try:
        note("next")
    except muniment.MunimentError:
        written = False
    else:
        written = True
    assert writable is written
    assert good is written, seen


@pytest.mark.usefixtures("home", "place")
@pytest.mark.parametrize("state", [newest, older, same_length, longer, *KEYS])
def test_writable_is_what_can_be_written(
    state: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands in the ledger's place, `status` says if an append succeeds."""
    state()
    capsys.readouterr()
    assert main(["status", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["writable"]
    assert main(["status"]) == 0
    key = re.search(r"^key +(.*)$", capsys.readouterr().out, re.MULTILINE)
    try:
        note("next")
    except muniment.MunimentError:
        written = False
    else:
        written = True
    assert said is written
    assert key is not None
    assert (key[1] == "here: this user can append") is written


@pytest.mark.usefixtures("home", "place")
def test_an_older_copy_is_not_called_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who remembers more events than a copy has does not say that nothing remembers."""
    older()
    shutil.copy("kept.db", "beside.db")
    main(["verify", "beside.db"])
    told = capsys.readouterr()
    assert "older copy, 1 event behind" in told.out
    assert "nothing here remembers" not in told.err
    assert "more events of this ledger are remembered" in told.err


@pytest.mark.parametrize("kind", ["llm", "data", "tool", "command", "human"])
def test_what_ctrl_c_advises_goes_on(newcomer: Newcomer, kind: str) -> None:
    """Whatever effect was under way, the line that is printed resumes the run."""
    (newcomer.folder / "work.py").write_text(PROGRAM.replace("KIND", repr(kind)))
    assert newcomer.start(["muniment", "init"]).code == 0
    cut = newcomer.start(["muniment", "run", "work.py"])
    assert cut.code == 130
    advised = re.findall(r"`(muniment resume .*?)`", cut.err)
    assert len(advised) == 1
    done = newcomer.start(["sh", "-c", advised[0]])
    assert (done.code, "result" in done.out) == (0, True), done.err


@pytest.mark.usefixtures("home", "place")
@pytest.mark.parametrize("end", ["returns", "raises"])
def test_nothing_is_advised_that_erased_contents_prevent(
    end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which content ever was erased: what is advised of the run can be done."""
    with muniment.open(create=True) as ledger:

        def program(run: muniment.Run, **_: object) -> object:
            got = run.effect("data", {"n": 1}, lambda _: 41)
            if end == "raises":
                run.effect("tool", {"n": 2}, lambda _: 1 // 0)
            return got

        run = ledger.execute(program, params={"who": "Ada"}).run_id
        refs = {
            cast("dict[str, str]", value)["$blob"]
            for event in ledger.events(run=run)
            for value in event.raw.values()
            if isinstance(value, dict) and "$blob" in value
        }
    assert refs
    kept, memory = LEDGER.read_bytes(), Path(os.environ["MUNIMENT_HOME"])
    shutil.copytree(memory, "kept-home")
    for ref in sorted(refs):
        LEDGER.write_bytes(kept)
        shutil.rmtree(memory)
        shutil.copytree("kept-home", memory)
        with muniment.open() as ledger:
            ledger.erase(ref, reason="asked")
        capsys.readouterr()
        assert main(["runs", "explain", run, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        verbs = {one["command"].split()[1] for one in said["next"]}
        assert "gone" in said["facts"]
        assert not {"replay", "resume"} & verbs
        assert "events" in verbs


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_process_that_nobody_waited_for_is_dead() -> None:
    """In a container whose first process collects nobody, what ended stays listed."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    described = cast("dict[str, JsonValue]", owner(child.pid))
    assert is_alive(described) is True
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it ended; it is not asked
    assert is_alive(described) is False
    child.communicate()
    assert is_alive(described) is False


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "line",
    ["status", "verify", "runs", "events --jsonl", "doctor", "keys", "--help", "query"],
)
def test_an_answer_that_cannot_be_printed_is_no_bug(
    newcomer: Newcomer, line: str
) -> None:
    """On a full disk, and without a stdout, it is one line and code 3."""
    assert newcomer.start(["muniment", "init"]).code == 0
    full = newcomer.start(["sh", "-c", f"muniment {line} > /dev/full"])
    assert full.code == 3
    assert "cli/unwritable" in full.err.splitlines()[-1]
    assert "bug" not in full.err
    assert "Exception ignored" not in full.err
    both = newcomer.start(["sh", "-c", f"muniment {line} > /dev/full 2>&1"])
    assert both.code == 3
    closed = newcomer.start(["sh", "-c", f"muniment {line} >&-"])
    assert (closed.code, "Traceback" in closed.err) == (3, False)
    assert "cli/unwritable" in closed.err.splitlines()[-1]


def test_doctor_says_that_there_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `init` is refused for want of a home, `doctor` does not find it well."""
    nowhere = cast("TrustHome", SimpleNamespace(path=home_location._NOWHERE))
    monkeypatch.delenv("MUNIMENT_HOME", raising=False)
    (found,) = [one for one in check_machine(nowhere) if one.name == "trust home"]
    assert (found.verdict, "MUNIMENT_HOME" in found.remedy) == ("warn", True)


def test_the_wrong_key_file_is_told_from_the_right_one(newcomer: Newcomer) -> None:
    """Whoever gives the root to replace the root, or no file, learns which is meant."""
    newcomer.begin()
    root = next(Path(newcomer.environment["MUNIMENT_HOME"]).rglob("root.pem"))
    swapped = newcomer.muniment("keys", "rotate", "--root", root)
    assert (swapped.code, "next root; to replace" in swapped.err) == (4, True)
    absent = newcomer.muniment("keys", "rotate", "--role", "writer", "--root", "no.pem")
    assert (absent.code, "`muniment status`" in absent.err) == (3, True)
    said = newcomer.muniment("status").err
    assert str(root.parent) in said
    assert root.name in said
    following = newcomer.muniment(
        "keys", "rotate", "--root", root.with_name("next-root.pem")
    )
    assert following.code == 0, following.err
