"""While a program is imported for a replay or a resume, nothing is run or written.

The advice of ``runs explain`` is followed as it is printed, for files with and without
a ``__main__`` guard, in fresh processes: no completed effect is performed twice, and no
second run appears.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from first_hour import Newcomer

FIRST = """
import os
import muniment


def pay(request):
    with open("paid", "a") as file:
        file.write("x")
    return {"paid": request["sum"]}


def fail(request):
    if not os.path.exists("repaired"):
        raise OSError("no line")
    return {"said": "yes"}


def triage(run, ticket):
    run.effect("tool", {"name": "pay", "sum": 7}, perform=pay)
    return run.effect("tool", {"name": "ask", "ticket": ticket}, perform=fail)

"""

UNDER_GUARD = """
if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        ledger.execute(triage, params={"ticket": "T-1"})
"""

DOINGS = {
    "execute": 'ledger.execute(triage, params={"ticket": "T-1"})',
    "dry": 'ledger.execute(triage, params={"ticket": "T-1"}, mode="dry")',
    "aexecute": (
        'import asyncio\nasyncio.run(ledger.aexecute(triage, params={"ticket": "T-1"}))'
    ),
    "run": 'with ledger.run("by hand") as run:\n    run.effect("tool", {"sum": 7}, pay)',
    "append": 'ledger.append("note.added", {"text": "again"})',
    "append_many": 'ledger.append_many([("note.added", {"text": "again"})])',
    "checkpoint": "ledger.checkpoint()",
    "resume": "ledger.resume(next(ledger.events(type='run.started')).run, triage)",
    "erase": ('ledger.erase(next(ledger.events(type="run.started")).run, reason="r")'),
    "create": 'muniment.Ledger.create("other.db")',
    "in a thread": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n"
        '    pool.submit(ledger.append, "note.added", {"text": "again"}).result()'
    ),
    "in a thread of a thread": (
        "import threading\n"
        "said = []\n"
        "def inner():\n"
        "    try:\n"
        '        ledger.append("note.added", {"text": "again"})\n'
        "    except Exception as error:\n"
        "        said.append(error)\n"
        "def outer():\n"
        "    one = threading.Thread(target=inner)\n"
        "    one.start()\n"
        "    one.join()\n"
        "one = threading.Thread(target=outer)\n"
        "one.start()\n"
        "one.join()\n"
        "if said: raise said[0]"
    ),
    "in a thread without a name": (
        "import _thread, queue\n"
        "said = queue.Queue()\n"
        "def inner():\n"
        "    try:\n"
        '        said.put(ledger.append("note.added", {"text": "again"}) and None)\n'
        "    except Exception as error:\n"
        "        said.put(error)\n"
        "_thread.start_new_thread(inner, ())\n"
        "error = said.get()\n"
        "if error: raise error"
    ),
    "swallowed": (
        "try:\n"
        '    ledger.execute(triage, params={"ticket": "T-1"})\n'
        "except Exception:\n"
        "    pass"
    ),
}
"""What a file may do by itself → its code, with a ledger that is open."""

EXPERIMENT = """
import muniment
from muniment_plugins.harness import (
    Experiment, Spec, bounded_synthesis, execute_capsule, generate_spec, specify_claim,
)

def model(*given):
    with open("paid", "a") as file:
        file.write("x")
    return "def fit_and_eval(d): return {'n': len(d)}"

def judge(before, now):
    return {"passed": True}

def data(ctx):
    return [1, 2]

main = (
    Experiment.builder()
    .datasource(data)
    .add_step(specify_claim(claim={"id": "c", "text": "t"}))
    .add_step(generate_spec(spec=Spec()))
    .add_step(bounded_synthesis(llm=model))
    .add_step(execute_capsule())
    .hypothesis("own", verifier=judge)
    .build()
)
"""

EXPERIMENT_DOINGS = {
    "run": "main.run()",
    "arun": "import asyncio\nasyncio.run(main.arun())",
    "register": "main.register()",
    "a step by hand": (
        "from muniment_plugins.harness import Case, Claim\n"
        'case = specify_claim(claim=Claim("c", "t"))(Case([1]))\n'
        "bounded_synthesis(llm=model)(generate_spec(spec=Spec())(case))"
    ),
}


@pytest.fixture
def failed(newcomer: Newcomer) -> str:
    """Run a script whose first effect completes and whose second fails."""
    (newcomer.folder / "first.py").write_text(FIRST + UNDER_GUARD)
    newcomer.python("first.py")
    ((run, _),) = newcomer.runs()
    assert (newcomer.events()[-1], newcomer.paid) == ("run.failed", 1)
    return run


def programs(newcomer: Newcomer) -> int:
    """Return how many runs of the program there are."""
    return sum(name in ("first.py", "triage") for _, name in newcomer.runs())


def advice(newcomer: Newcomer, run: str) -> dict[str, list[str]]:
    """Return the commands that ``runs explain`` offers, by their verb."""
    said = json.loads(newcomer.muniment("runs", "explain", run, "--json").out)
    lines = [shlex.split(one["command"]) for one in said["next"]]
    return {line[1]: line[1:] for line in lines}


def test_advice_on_a_guarded_file_works_and_performs_nothing_twice(
    newcomer: Newcomer, failed: str
) -> None:
    """What is offered can be pasted: replay says the same, resume goes on."""
    offered = advice(newcomer, failed)

    assert newcomer.muniment(*offered["replay"]).code == 0
    (newcomer.folder / "repaired").touch()
    assert newcomer.muniment(*offered["resume"]).code == 0
    assert newcomer.muniment("replay", failed).code == 0
    assert (newcomer.paid, programs(newcomer)) == (1, 1)


@pytest.mark.parametrize("doing", DOINGS)
@pytest.mark.parametrize("verb", ["replay", "resume"])
def test_an_unguarded_file_is_refused(
    newcomer: Newcomer, failed: str, doing: str, verb: str
) -> None:
    """Named or found, whatever it does by itself is refused, and the guard is named."""
    file = newcomer.folder / "first.py"
    file.write_text(
        f"{FIRST}\nledger = muniment.open()\n{DOINGS[doing]}\nledger.close()\n"
    )
    before = newcomer.events()

    given = ("--program", "first.py:triage", *(["--no-record"] * (verb == "replay")))
    done = newcomer.muniment(verb, failed, *given)

    if doing != "swallowed":
        assert (done.code, done.out) == (4, "")
        assert "[program/importing]" in done.err
        assert '`if __name__ == "__main__":`' in done.err
    if doing != "swallowed" or verb == "replay":
        assert newcomer.events() == before
    assert (newcomer.paid, programs(newcomer)) == (1, 1)
    assert not (newcomer.folder / "other.db").exists()


@pytest.mark.parametrize("doing", EXPERIMENT_DOINGS)
def test_an_experiment_does_not_run_by_itself_either(
    newcomer: Newcomer, doing: str
) -> None:
    """Neither run nor registration, nor a step that is called by hand asks a model."""
    file = newcomer.folder / "study.py"
    file.write_text(EXPERIMENT)
    newcomer.begin()
    run = json.loads(newcomer.muniment("run", "study.py", "--json").out)["run"]
    assert newcomer.paid == 1
    file.write_text(f"{EXPERIMENT}\n{EXPERIMENT_DOINGS[doing]}\n")

    done = newcomer.muniment("replay", run, "--program", "study.py:main", "--no-record")

    assert (done.code, "[program/importing]" in done.err) == (4, True), done.err
    assert (newcomer.paid, len(newcomer.runs())) == (1, 1)
    # By its events alone it replays: of what is imported there, nothing is asked.
    assert newcomer.muniment("replay", run, "--no-record").code == 0
    assert newcomer.paid == 1


def test_other_threads_go_on(newcomer: Newcomer) -> None:
    """A thread that was there before the import writes as before."""
    (newcomer.folder / "served.py").write_text(SERVED)
    (newcomer.folder / "slow.py").write_text(SLOW)

    assert newcomer.python("served.py").out.split() == ["written", "acceptable"]


SLOW = """
import time, pathlib

def main(run):
    return 1

while pathlib.Path("wait").exists() and not pathlib.Path("written").exists():
    time.sleep(0.01)
"""
SERVED = """
import importlib, pathlib, sys, threading
import muniment

ledger = muniment.open(create=True)
import slow
run = ledger.execute(slow.main).run_id
del sys.modules["slow"]
pathlib.Path("wait").touch()

def serve():
    while pathlib.Path("begun").exists() is False:
        pass
    ledger.append("note.added", {"text": "meanwhile"})
    pathlib.Path("written").touch()
    print("written", flush=True)

server = threading.Thread(target=serve)
server.start()
pathlib.Path("begun").touch()
print(muniment.replay(muniment.open(readonly=True), run).verdict)
server.join()
"""


def test_threads_that_others_start_go_on(newcomer: Newcomer) -> None:
    """A host that starts threads all the time goes on while it replays and resumes.

    What such a thread starts itself goes on, too, and so do the pools that it makes.
    """
    (newcomer.folder / "busy.py").write_text(BUSY)
    (newcomer.folder / "slow.py").write_text(SLOW_AGAIN)

    said = newcomer.python("busy.py")

    assert (said.out.split(), said.err) == (["acceptable", "written", "none"], "")


SLOW_AGAIN = """
import pathlib, time

def main(run):
    return 1

while pathlib.Path("wait").exists() and not pathlib.Path("written").exists():
    time.sleep(0.01)
"""
BUSY = """
import pathlib, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import muniment

ledger = muniment.open(create=True)
import slow
run = ledger.execute(slow.main).run_id
refused, written, ended = [], [], threading.Event()

def write():
    try:
        ledger.append("note.added", {"text": "meanwhile"})
    except Exception as error:
        refused.append(error)
    else:
        written.append(1)
        if "slow" in sys.modules and len(written) > 20:
            pathlib.Path("written").touch()

def nested():
    inner = threading.Thread(target=write)
    inner.start()
    inner.join()

def serve():
    while not ended.is_set() and not refused:
        one = threading.Thread(target=nested)
        one.start()
        with ThreadPoolExecutor() as pool:
            pool.submit(write).result()
        one.join()
        time.sleep(0.005)
    pathlib.Path("written").touch()

del sys.modules["slow"]
pathlib.Path("wait").touch()
host = threading.Thread(target=serve)
host.start()
print(muniment.replay(muniment.open(readonly=True), run).verdict)
ended.set()
host.join()
print("written" if written else "nothing", *(refused or ["none"]))
"""


def test_the_first_program_of_the_readme(newcomer: Newcomer) -> None:
    """Saved as a file, it replays and resumes by its id alone, as README says."""
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    text = readme.split("```python\n")[1].split("```")[0]
    (newcomer.folder / "first.py").write_text(text)
    assert "acceptable" in newcomer.python("first.py").out
    (run,) = [run for run, name in newcomer.runs() if not name.startswith("replay")]

    assert newcomer.muniment("replay", run).code == 0
    again = newcomer.muniment("resume", run)
    assert (again.code, "[run/complete]" in again.err) == (4, True)
