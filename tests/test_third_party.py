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
            timeout=300,
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


SPREAD = """
import muniment
from muniment_plugins.harness import *
import given

def experiment():
    return (
        Experiment.builder("s")
        .datasource(given.rows)
        .pipeline([
            specify_claim(claim=Claim("c", "A claim")),
            generate_spec(spec=Spec()),
            bounded_synthesis(code="def fit_and_eval(data): return {'n': len(data)}"),
            execute_capsule(),
        ])
        .build()
    )

with muniment.open(create=True) as ledger:
    spread = experiment().run(replicates=2, executor="errands", ledger=ledger)
    serial = experiment().run(replicates=2, ledger=ledger)
    print(spread.errors, spread.result_digest == serial.result_digest)
    print(next(ledger.events(run=spread.run_id)).data["labels"]["executor"])
    print(muniment.replay(ledger, spread.run_id).verdict)
"""
GIVEN = """
import os, pathlib
def rows(ctx):
    with pathlib.Path("pids").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    return [1, 2]
"""


def test_a_stranger_brings_an_executor(shell: _Shell) -> None:
    """An experiment is spread by it, by its name, to the same digest, and replays."""
    (shell.place / "use.py").write_text(SPREAD)
    (shell.place / "given.py").write_text(GIVEN)
    said = shell.run("use.py", MUNIMENT_PLUGINS="capsule,greeter,harness")
    assert said == ["() True", "errands", "acceptable"]
    pids = (shell.place / "pids").read_text().split()
    assert len(pids) == 4
    assert len(set(pids)) == 3


GERMAN = """
from muniment import hookimpl

@hookimpl(optionalhook=True)
def greeting_words(name):
    return f"Guten Tag, {name}." if name == "Ada" else None
"""
ASK = """
import muniment

def program(run):
    return [run.effect("greeting", {"name": one}, perform=None) for one in ("Ada", "Bo")]

with muniment.open(create=True) as ledger:
    print(ledger.execute(program).result)
"""


@pytest.mark.parametrize("name", ["german", "zgerman"])
def test_a_stranger_asks_another(shell: _Shell, site: Path, name: str) -> None:
    """A hook that one plugin declares is answered by another, loaded before or after."""
    both = shutil.copytree(site, shell.place / "site")
    (both / f"{name}.py").write_text(GERMAN)
    about = both / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[muniment]\n{name} = {name}\n")
    shell.environment["PYTHONPATH"] = str(both)
    (shell.place / "ask.py").write_text(ASK)
    for allowed, first in (("greeter", "Good day"), (f"greeter,{name}", "Guten Tag")):
        said = shell.run("ask.py", MUNIMENT_PLUGINS=allowed)
        assert said == [f"['{first}, Ada.', 'Good day, Bo.']"]
    work = "import muniment; muniment.open(create=True).execute(lambda run: None)"
    shell.run("-c", work, MUNIMENT_PLUGINS=name)
    (both / f"{name}.py").write_text(GERMAN.replace("(optionalhook=True)", ""))
    last = shell.run("-c", work, MUNIMENT_PLUGINS=name, fails=True)[-1]
    assert f"plugin {name} ({name} 1.0)" in last
    assert "no active plugin declares the hook greeting_words [plugin/load]" in last


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
