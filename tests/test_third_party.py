"""A stranger's plugin is installed, and used through the same door as the built-in ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "third_party_plugin"

USE = """
import muniment
from muniment import replay
from muniment.errors import AppendRefused, EffectFailed

def program(run):
    text = run.effect("greeting", {"name": "Ada"}, perform=None)
    run.record("greeting.received", {"name": "Ada", "text": text})
    try:
        run.effect("command", ["rm", "-rf", "/"], perform=None)
    except EffectFailed as failure:
        return [text, failure.message]

with muniment.open(create=True) as ledger:
    done = ledger.execute(program)
    print(done.result)
    (outcome,) = ledger.events(type="greeting.completed")
    print(outcome.data["answered_by"])
    print(next(ledger.events(run=done.run_id)).data["plugins"]["greeter"])
    print(ledger.export(done.run_id, "greetings"))
    try:
        ledger.append("note.added", {"text": "HELLO"})
    except AppendRefused as refusal:
        print(refusal.place, refusal.message)
    print(replay(ledger, done.run_id, program).verdict)
"""

VERIFY = """
import sys
from muniment import verify
print(verify(".muniment/ledger.db").ok)
print([name for name in sys.modules if "greeter" in name or "muniment_plugins" in name])
"""

ALONE = """
import sys
from muniment.plugins import Plugins
known = {one.name: one for one in Plugins().installed}
print(known["greeter"].distribution, known["greeter"].version)
print("muniment_greeter" in sys.modules)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build and install the example into a directory of its own."""
    place = tmp_path_factory.mktemp("stranger")
    source = shutil.copytree(EXAMPLE, place / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--disable-pip-version-check"]
    command += ["--no-warn-conflicts", "--target", str(place / "site"), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return place / "site"


class _Shell:
    """A working directory in which the example is installed."""

    def __init__(self, site: Path, place: Path, home: Path) -> None:
        self.place = place
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(site),
            "MUNIMENT_HOME": str(home),
            "MUNIMENT_PLUGINS": "greeter",
        }

    def run(self, *arguments: str, fails: bool = False, **more: str) -> list[str]:
        """Run Python with *arguments*; return the lines that it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.place,
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stderr
        return (done.stderr if fails else done.stdout).splitlines()


@pytest.fixture
def shell(site: Path, tmp_path: Path, home: Path) -> _Shell:
    """Give a fresh working directory."""
    place = tmp_path / "work"
    place.mkdir()
    return _Shell(site, place, home)


def test_a_stranger_is_installed_and_used(shell: _Shell) -> None:
    """Words, answer, refusal, gate, format and command of the plugin all count."""
    (shell.place / "use.py").write_text(USE)
    assert shell.run("use.py") == [
        "['Good day, Ada.', 'a greeter runs no commands']",
        "{'name': 'greeter', 'version': '1.2.3', 'who': 'plugin'}",
        "1.2.3",
        "b'Good day, Ada.\\n'",
        "plugin greeter please do not shout",
        "acceptable",
    ]
    main = "from muniment_cli import main; main()"
    assert shell.run("-c", main, "greetings") == ["Good day, Ada."]
    assert shell.run("-c", VERIFY) == ["True", "[]"]


def test_a_stranger_is_listed_without_being_loaded(shell: _Shell) -> None:
    """Name and version are known before a line of the plugin ran."""
    assert shell.run("-c", ALONE) == ["muniment-greeter 1.2.3", "False"]


def test_a_broken_stranger_stops_the_work(shell: _Shell, site: Path) -> None:
    """A plugin that cannot be imported is one clear line; without it work goes on."""
    broken = shell.place / "broken"
    shutil.copytree(site, broken)
    (broken / "muniment_greeter.py").write_text("raise RuntimeError('no\\nluck')\n")
    shell.environment["PYTHONPATH"] = str(broken)
    work = "import muniment; muniment.open(create=True).append('note.added', {'text': 'a'})"
    last = shell.run("-c", work, fails=True)[-1]
    assert last.endswith(
        "plugin greeter (muniment-greeter 1.2.3): RuntimeError: no luck [plugin/load]; "
        "repair or uninstall it, or leave it out of MUNIMENT_PLUGINS"
    )
    shell.run("-c", work, MUNIMENT_PLUGINS="none")


def test_verify_loads_no_plugin(shell: _Shell) -> None:
    """Whatever is installed, verify imports none of it."""
    work = "import muniment; muniment.open(create=True).append('note.added', {'text': 'a'})"
    shell.run("-c", work)
    for name in ("MUNIMENT_PLUGINS",):
        del shell.environment[name]
    assert shell.run("-c", VERIFY) == ["True", "[]"]
