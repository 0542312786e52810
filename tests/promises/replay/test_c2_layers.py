"""A program that is replayed by command reaches nothing, and is not believed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from first_hour import begin
from operations import LACKING, OPERATIONS, outcomes

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import operation_table  # noqa: E402 - by the line above

MUNIMENT = str(Path(sys.executable).with_name("muniment"))

OWN = {"os.chdir", "socket.getaddrinfo", "socket.gethostbyname"}
"""What passes: a directory of one's own process, and addresses that are numbers."""


def shell(work: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    done = subprocess.run(
        line, cwd=work, env=os.environ, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stdout
    return done


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a ledger, and stand beside it."""
    place = tmp_path / "work"
    place.mkdir()
    begin(place)
    return place


def recorded(work: Path, text: str, *options: str) -> str:
    """Run the program *text* as a file, and return the run."""
    (work / "program.py").write_text(text)
    ran = shell(work, MUNIMENT, "run", "program.py", "--json", *options)
    assert ran.returncode == 0, ran.stderr
    return str(json.loads(ran.stdout)["run"])


def replayed(work: Path, run: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Replay *run* by command."""
    return shell(work, MUNIMENT, "replay", run, "--no-record", *options)


# -- each operation ---------------------------------------------------------------------


def test_the_table_is_what_happens(tmp_path: Path) -> None:
    """Each operation works freely; guard and layers do what the page says of it."""
    free = outcomes("control", tmp_path / "control")
    assert {name for name, what in free.items() if what != "passed"} == set()
    guard = outcomes("guard", tmp_path / "guard")
    layers = outcomes("layers", tmp_path / "layers")
    assert len(OPERATIONS) >= 85
    if layers[LACKING]:
        pytest.skip(f"this machine lacks {layers[LACKING]}")
    passed = {name for name, what in layers.items() if what == "passed"}
    assert passed - {LACKING} == OWN
    written = operation_table.PAGE.read_text().partition(operation_table.BEGIN)[2]
    page = written.partition(operation_table.END)[0].strip()
    assert page == operation_table.table(guard, layers).strip()


# -- what is hidden ----------------------------------------------------------------------

THIEF = """
import os
from pathlib import Path


def main(run):
    if run.mode == "live":
        return []
    places = [os.environ["MUNIMENT_HOME"], ".muniment"]
    found = []
    for place in places:
        for path in Path(place).rglob("*"):
            try:
                found.append(path.read_bytes()[:9].hex())
            except OSError:
                pass
    return found
"""


@pytest.mark.parametrize("inside", [False, True])
def test_no_key_and_no_ledger_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    """Not even where trust home and ledger lie in the program's own folder."""
    place = tmp_path / "work"
    place.mkdir()
    if inside:
        monkeypatch.setenv("MUNIMENT_HOME", str(place / "home"))
    begin(place)
    run = recorded(place, THIEF)
    done = replayed(place, run, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["isolation"]["missing"] == {}


# -- what must go on working --------------------------------------------------------------

ORDINARY = """
import asyncio, tempfile, threading
from pathlib import Path


async def tick():
    await asyncio.sleep(0)
    return await asyncio.to_thread(lambda: 3)


def main(run):
    import numpy

    seen = []
    threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(4)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "x")
        file.write_text("scratch") if run.mode == "replay" else file.write_text("scratch")
        back = file.read_text()
    data = (Path(__file__).parent / "data" / "numbers.txt").read_text()
    matrix = numpy.ones((300, 300)) @ numpy.ones((300, 300))
    names = sorted(one.name for one in Path("data").iterdir())
    return [sorted(seen), back, data, float(matrix[0, 0]), asyncio.run(tick()), names]
"""


def test_ordinary_programs_are_replayed(work: Path) -> None:
    """Threads, loops, scratch files, files of its folder, and libraries with threads."""
    (work / "data").mkdir()
    (work / "data" / "numbers.txt").write_text("1 2 3")
    run = recorded(work, ORDINARY)
    done = replayed(work, run)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_kept_from_it_cannot_be_told(work: Path, tmp_path: Path) -> None:
    """A file elsewhere is exit 3 with the option that lets it be read; with it, exit 0."""
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("far")
    text = f"def main(run):\n    return open({str(elsewhere)!r}).read()\n"
    run = recorded(work, text)
    done = replayed(work, run)
    assert done.returncode == 3, done.stdout
    assert "replay/denied" in done.stderr
    assert str(elsewhere) in done.stderr
    assert "--readable" in done.stderr
    assert replayed(work, run, "--readable", str(elsewhere)).returncode == 0


# -- what is said, and required ------------------------------------------------------------


def test_a_command_loses_network_and_trust_home_alone(work: Path) -> None:
    """It writes again, which the report says; less isolation than required is exit 4."""
    text = """
import os, socket
from pathlib import Path

with open("log.txt", "a") as file:
    file.write("ran\\n")
home = Path(os.environ["MUNIMENT_HOME"])
names = [name for _, name in socket.if_nameindex()]
if "MUNIMENT_OFFLINE" in os.environ:
    assert not list(home.iterdir()), "the trust home is there"
    assert names in ([], ["lo"]), "the network is there"
"""
    (work / "agent.py").write_text(text)
    line = ("--", sys.executable, "agent.py")
    assert shell(work, MUNIMENT, "record", *line).returncode == 0
    listed = shell(work, MUNIMENT, "runs", "--json").stdout
    run = json.loads(listed)[0]["id"]
    done = replayed(work, run, *line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not kept from" in done.stdout
    assert (work / "log.txt").read_text() == "ran\n" * 2
    refused = replayed(work, run, "--require-isolation", "os-strong", *line)
    assert refused.returncode == 4
    assert "replay/isolation" in refused.stderr
    assert (work / "log.txt").read_text() == "ran\n" * 2


def test_a_command_line_is_for_recorded_commands(work: Path) -> None:
    """A run of another program is refused one, before anything is started."""
    run = recorded(work, "def main(run):\n    return 1\n")
    (work / "program.py").write_text("raise SystemExit('imported')\n")
    done = replayed(work, run, "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert "replay/no-command" in done.stderr


# -- who is not believed --------------------------------------------------------------------

HOSTILE = {
    "garbage": "tell(b'\\xff' * 200)",
    "half a message": "tell((50).to_bytes(8, 'big') + b'[\"fact\"'); os._exit(0)",
    "a message without end": "tell((1 << 60).to_bytes(8, 'big') + b'x' * 100)",
    "no message of ours": "tell(framed(['believe me']))",
    "JSON of another shape": "tell(framed({'end': True}))",
    "a fact of no shape": "tell(framed(['fact', 1, 2, 3]))",
    "an end of no shape": "tell(framed(['end', {'type': 'x'}, [], [], None]))",
    "an odd result": "tell(framed(['end', {'type': 'run.failed'}, [], [], None]))",
    "a flood": "\n    while True: tell(framed(['fact', '', 'note.added', {'text': 'x'}]))",
    "asks without end": "\n    while True: tell(framed(['ask', 1, {}]))",
    "an exit": "os._exit(0)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "a deep one": "tell((9000).to_bytes(8, 'big') + b'[' * 9000)",
}

LIAR = """
import json, os


def framed(value):
    data = json.dumps(value).encode()
    return len(data).to_bytes(8, "big") + data


def tell(data):
    for number in range(3, 1024):
        try:
            os.write(number, data)
        except OSError:
            pass


def main(run):
    if run.mode == "live":
        return "honest"
    {deed}
    return "other"
"""


@pytest.fixture(scope="module")
def lied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """Record the honest run once; return its folder, its trust home and its id."""
    work, home = (tmp_path_factory.mktemp(one) for one in ("lied", "home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNIMENT_HOME", str(home))
        begin(work)
        return work, home, recorded(work, LIAR.replace("{deed}", "pass"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_program_that_writes_into_the_pipe(
    lied: tuple[Path, Path, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it writes, exits by, or floods with: a verdict against it, or none."""
    work, home, run = lied
    monkeypatch.setenv("MUNIMENT_HOME", str(home))
    (work / "other.py").write_text(LIAR.replace("{deed}", HOSTILE[name]))
    done = replayed(work, run, "--program", "other.py:main")
    assert done.returncode in (1, 3), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_child_leaves_out_is_missed(work: Path) -> None:
    """An end that is claimed without the facts before it is not acceptable."""
    text = LIAR.replace("{deed}", "pass").replace(
        'return "honest"', 'run.record("note.added", {"text": "x"}); return "honest"'
    )
    run = recorded(work, text)
    claim = "tell(framed(['end', {'type': 'run.completed', 'result': 'honest'}, "
    (work / "other.py").write_text(LIAR.replace("{deed}", claim + "[], [], None]))"))
    done = replayed(work, run, "--program", "other.py:main", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(done.stdout)["first_divergence"]["what"] == "missing"
