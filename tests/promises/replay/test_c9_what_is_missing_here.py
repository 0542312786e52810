"""What a machine lacks says nothing about a record: the verdict is *cannot tell*.

The modules are really missing: folders that are on the path of the run and not on that of
its replay, and an environment into which numpy was never installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from base_install import Site
from machines import LANDLOCK, paths, strong

HERE = str(Path(sys.executable).with_name("muniment"))

IMPORTS = {
    "a module": "import extra; value = extra.double(2)",
    "a name of it": "from extra import double; value = double(2)",
    "a module of a package": "import extras.sub; value = extras.sub.double(2)",
    "a name of a package": "from extras.sub import double; value = double(2)",
    "by its name": "import importlib; value = importlib.import_module('extra').double(2)",
}
BODIES = {
    "a program": """
def main(run):
    IMPORT
    return value
""",
    "a program that stated something": """
def main(run):
    run.record("note.added", {"text": "begun"})
    IMPORT
    run.record("note.added", {"text": str(value)})
    return value
""",
    "a program that is awaited": """
async def main(run):
    IMPORT
    return value
""",
    "a program that says it in other words": """
def main(run):
    try:
        IMPORT
    except ImportError as error:
        raise RuntimeError("it needs more") from error
    return value
""",
    "a run that it calls": """
def below(run):
    IMPORT
    return value


def main(run):
    return run.call(below)
""",
}
EXPERIMENT = """
from muniment_plugins.harness import *


@pipeline_step
def doubled(data, ctx):
    STEP
    return data, {"k": value}


@verifier
def judged(baseline, condition):
    VERIFIER
    return {"passed": condition["m"][0] < value}


main = (
    Experiment.builder("e")
    .datasource(lambda ctx: [1.0])
    .add_step(specify_claim(claim={"id": "c", "text": "t"}))
    .add_step(generate_spec(spec={"allowed_imports": ["numpy"]}))
    .add_step(bounded_synthesis(code=CODE))
    .add_step(execute_capsule(require=FLOOR))
    .add_step(doubled())
    .hypothesis("h", verifier=judged)
    .build()
)
"""
PLAIN = "def fit_and_eval(data): return {'m': sum(data)}"
NUMPY = "import numpy\ndef fit_and_eval(data): return {'m': float(numpy.sum(data))}"


class Place:
    """A folder with a ledger, in which commands are run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = {"MUNIMENT_HOME": str(root / "home")}
        library = root / "library"
        (library / "extras").mkdir(parents=True)
        for name in ("extra.py", "extras/__init__.py", "extras/sub.py"):
            (library / name).write_text("def double(x): return 2 * x\n")
        self.library = {"PYTHONPATH": str(library)}
        self("init")

    def __call__(
        self, *words: str, by: str | tuple[str, ...] = HERE, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``muniment`` with *words*, and with *more* variables."""
        start = (by,) if isinstance(by, str) else by
        known = {k: v for k, v in os.environ.items() if not k.startswith("MUNIMENT")}
        return subprocess.run(
            [*start, *words],
            capture_output=True,
            check=False,
            cwd=self.root,
            env={**known, **self.home, **more},
            text=True,
            timeout=120,
        )

    def ran(self, text: str, **more: str) -> str:
        """Run the program *text*, with the library, and return its run."""
        (self.root / "p.py").write_text(text)
        done = self("run", "p.py:main", "--json", **{**self.library, **more})
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        return str(told.get("run_id") or told["run"])

    def verdicts(self) -> int:
        """Return how many verdicts the ledger holds."""
        told = json.loads(
            self("events", "list", "--type", "replay.judged", "--json").stdout
        )
        return len(told["events"] if isinstance(told, dict) else told)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Give a ledger, and a library that only a run gets."""
    return Place(tmp_path)


@pytest.fixture(scope="module")
def bare() -> Iterator[Site]:
    """Give an environment without numpy."""
    made = Site()
    yield made
    made.close()


def require_untold(
    place: Place, done: subprocess.CompletedProcess[str], says: str
) -> None:
    """Require that *done* could not tell, named what is missing, and recorded nothing."""
    assert done.returncode == 3, done.stdout + done.stderr
    assert says in done.stderr
    assert "acceptable" not in done.stdout
    assert place.verdicts() == 0


@pytest.mark.parametrize(
    ("body", "how"),
    [
        (b, h)
        for b, h in product(BODIES, IMPORTS)
        if b == "a program" or h == "a module"
    ],
)
def test_module_that_is_missing_here(place: Place, body: str, how: str) -> None:
    """Wherever and however a program imports it: cannot tell, and nothing is recorded."""
    run = place.ran(BODIES[body].replace("IMPORT", IMPORTS[how]))
    others = ("bounded", "observational") if body == "a program" else ()
    for mode in ("strict", *others[: 2 * (how == "a module")]):
        done = place("replay", run, "--deep", "--mode", mode)
        require_untold(place, done, "No module named 'extra")
        assert "[replay/lacking]" in done.stderr
    done = place("replay", run, "--deep", **place.library)
    assert done.returncode == 0, done.stdout + done.stderr


def test_named_program_that_is_the_recorded_one(place: Place) -> None:
    """Whoever does not trust the ledger names the file; the same file lacks the same."""
    run = place.ran(BODIES["a program"].replace("IMPORT", IMPORTS["a module"]))
    done = place("replay", run, "--program", "p.py:main")
    require_untold(place, done, "No module named 'extra'")


def test_module_that_is_another_here(place: Place) -> None:
    """A library without the name that the program takes from it is missing as well."""
    run = place.ran(BODIES["a program"].replace("IMPORT", IMPORTS["a name of it"]))
    (place.root / "older").mkdir()
    (place.root / "older" / "extra.py").write_text("def halve(x): return x / 2\n")
    done = place("replay", run, PYTHONPATH=str(place.root / "older"))
    require_untold(place, done, "cannot import name 'double' from 'extra'")


@pytest.mark.parametrize("where", ["STEP", "VERIFIER"])
def test_function_of_an_experiment(place: Place, where: str) -> None:
    """A step and a verifier of an experiment lack a module as a program does."""
    text = EXPERIMENT.replace(where, IMPORTS["a module"])
    for other in ("STEP", "VERIFIER"):
        text = text.replace(other, "value = 9.0")
    run = place.ran(text.replace("CODE", repr(PLAIN)).replace("FLOOR", "None"))
    require_untold(place, place("replay", run), "No module named 'extra'")
    assert place("replay", run, **place.library).returncode == 0


def experiment(code: str, floor: str | None = None) -> str:
    """Return an experiment that runs *code*, at no weaker level than *floor*."""
    text = EXPERIMENT.replace("STEP", "value = 9.0").replace("VERIFIER", "value = 9.0")
    return text.replace("CODE", repr(code)).replace("FLOOR", repr(floor))


def test_recorded_code_whose_package_is_missing(place: Place, bare: Site) -> None:
    """Code that imports numpy, checked by somebody who has none, is neither good nor bad."""
    run = place.ran(experiment(NUMPY))
    done = place("replay", run, by=str(bare.bin / "muniment"))
    require_untold(place, done, "No module named 'numpy'")


def test_setting_that_is_misspelt(place: Place) -> None:
    """A level that does not exist is named; it is no difference."""
    run = place.ran(experiment(PLAIN))
    done = place("replay", run, MUNIMENT_REQUIRE="os-stronk")
    require_untold(
        place, done, "MUNIMENT_REQUIRE: 'os-stronk' is not an isolation level"
    )


UNWALLED = """
import os, sys
from muniment_plugins.capsule.isolation.native import System
from muniment_plugins.capsule.isolation.seccomp import ALLOW, assemble
system = System()
program = assemble(os.uname().machine, dict.fromkeys(CALLS, "ENOSYS"), ALLOW)
held, where = system.at_address(program)
system.call("prctl", 38, 1)
where = (len(program) // 8).to_bytes(8, "little") + where.to_bytes(8, "little")
system.call("seccomp", 1, 0, where)
os.execv(sys.executable, [sys.executable, HERE, *sys.argv[1:]])
"""


@strong
@pytest.mark.parametrize("asked", ["by the record", "by a variable"])
def test_level_that_this_machine_does_not_have(place: Place, asked: str) -> None:
    """On a kernel without Landlock, code that needs it is refused, as in a run."""
    recorded = asked == "by the record"
    run = place.ran(experiment(PLAIN, "os-strong" if recorded else None))
    code = UNWALLED.replace("CALLS", str(LANDLOCK)).replace("HERE", repr(HERE))
    more = {} if recorded else {"MUNIMENT_REQUIRE": "os-strong"}
    done = place(
        *("replay", run, "--trust-program"),
        by=(sys.executable, "-c", code),
        PYTHONPATH=paths(),
        **more,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "os-strong isolation is required" in done.stderr
    assert place.verdicts() == 0


OTHERS = {
    "a module that the run could not import, either": (
        "def main(run):\n"
        "    def bring(request):\n        import extra_never\n"
        "    try:\n        run.effect('data', {'name': 'x'}, bring)\n"
        "    except Exception:\n        pass\n"
        "    if CHANGES > '1':\n        import extra_never\n"
    ),
    "nothing that is missing, but other words": (
        "def main(run):\n"
        "    run.record('note.added', {'text': \"No module named 'extra_never'\" + CHANGES})\n"
    ),
    "a module that is here": (
        "def main(run):\n"
        "    if CHANGES > '1':\n        raise ModuleNotFoundError(\"No module named 'json'\")\n"
    ),
}


@pytest.mark.parametrize("said", OTHERS)
def test_other_differences_still_count(place: Place, said: str) -> None:
    """A program that differs, and says of a module what does not explain it, is wrong."""
    run = place.ran(
        OTHERS[said].replace("CHANGES", "__import__('os').environ['PYTHONX']"),
        PYTHONX="1",
    )
    done = place("replay", run, PYTHONX="2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert place.verdicts() == 1


def test_another_program_that_lacks_something(place: Place) -> None:
    """A named program with another import is another program: it is not accepted."""
    run = place.ran("def main(run):\n    return 1\n")
    (place.root / "q.py").write_text("def main(run):\n    import extra\n    return 1\n")
    done = place("replay", run, "--program", "q.py:main")
    assert done.returncode == 1, done.stdout + done.stderr


def test_difference_before_anything_is_missing(place: Place) -> None:
    """What differs before an import fails is a difference, whatever is missing later."""
    text = (
        "import os\n"
        "def main(run):\n"
        "    run.record('note.added', {'text': os.environ['PYTHONX']})\n"
        "    import extra\n"
    )
    run = place.ran(text, PYTHONX="1")
    for mode in ("strict", "bounded"):
        done = place("replay", run, "--mode", mode, PYTHONX="2")
        assert done.returncode == {"strict": 1, "bounded": 3}[mode], done.stderr


COMMANDS = {
    "a script": [sys.executable, "agent.py"],
    "a module": [sys.executable, "-m", "agent"],
}
AGENTS = {
    "at its top": "import extra\nprint(extra.double(2))\n",
    "in other words": (
        "def main():\n"
        "    try:\n        import extra\n"
        "    except ImportError as error:\n"
        "        raise RuntimeError('it needs more') from error\n"
        "    print(extra.double(2))\n"
        "import asyncio\nasync def later(): main()\nasyncio.run(later())\n"
    ),
}


@pytest.mark.parametrize(
    ("how", "where"),
    [(h, "at its top") for h in COMMANDS] + [("a script", "in other words")],
)
def test_recorded_command_whose_python_lacks_a_module(
    place: Place, how: str, where: str
) -> None:
    """The Python that failed says so itself: it need not be the one of the replay."""
    (place.root / "agent.py").write_text(AGENTS[where])
    done = place("record", "--", *COMMANDS[how], **place.library)
    assert done.returncode == 0, done.stderr
    done = place("replay", "last", "--", *COMMANDS[how])
    require_untold(place, done, "No module named 'extra'")
    done = place("replay", "last", "--", *COMMANDS[how], **place.library)
    assert done.returncode == 0, done.stdout + done.stderr


def test_recorded_command_that_is_another(place: Place) -> None:
    """Another script that lacks a module is another script; so is one that just fails."""
    (place.root / "agent.py").write_text("print(4)\n")
    command = [sys.executable, "agent.py"]
    assert place("record", "--", *command).returncode == 0
    for text in ("import extra\nprint(4)\n", "raise SystemExit(1)\n"):
        (place.root / "agent.py").write_text(text)
        done = place("replay", "last", "--", *command)
        assert done.returncode == 1, done.stdout + done.stderr
