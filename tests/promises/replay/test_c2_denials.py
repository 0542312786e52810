"""What the layers deny is said, and each remedy that is said works when it is followed."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from first_hour import Newcomer, Said, begin

FLOW = {
    "flow_id": "f",
    "tenant_id": "t",
    "flow_state": "validated",
    "determinism_level": "strict",
    "replay_acceptability": "exact_match",
    "replay_envelope": {"min_claim_overlap": 1.0, "max_contradiction_delta": 0},
    "agents": ["a"],
    "dependencies": [],
    "parts": {"a": "ag:a"},
    "inputs": None,
    "entropy_budget": {"allowed_sources": ["data"], "max_magnitude": "low"},
}


def _desk(
    tmp_path: Path, *, ledger: str = "desk", home: str = "home", **also: str
) -> Newcomer:
    """Return a desk whose ledger and trust home lie where they are wanted."""
    folder, away = tmp_path / "desk", tmp_path / ledger
    for one in (folder, away):
        one.mkdir(exist_ok=True)
    if away != folder:
        also["MUNIMENT_LEDGER"] = f"{away}/.muniment/ledger.db"
    desk = Newcomer(folder, tmp_path / home, also)
    begin(away, tmp_path / home / "trust")
    return desk


def _recorded(desk: Newcomer, target: str) -> str:
    ran = desk.muniment("run", target, "--json")
    assert ran.code == 0, ran.err
    return str(json.loads(ran.out)["run"])


def _verdict(said: Said) -> str:
    return "" if said.code == 3 else str(json.loads(said.out)["verdict"])


@pytest.mark.parametrize("home", ["home", "desk/home"])
@pytest.mark.parametrize("ledger", ["desk", "away"])
@pytest.mark.parametrize("body", ["random.random()", "dict(inner.X)", "1"])
def test_a_flow_is_judged_wherever_the_ledger_is(
    tmp_path: Path, ledger: str, home: str, body: str
) -> None:
    """Beside its ledger, as in the tutorial, too: it reads names there, and is let."""
    desk = _desk(tmp_path, ledger=ledger, home=home)
    (desk.folder / "f.json").write_text(json.dumps(FLOW))
    (desk.folder / "inner.py").write_text("import time\nX = {'t': time.time()}\n")
    lines = ["def a(run, task):", "    import random, inner", f"    return {body}"]
    (desk.folder / "ag.py").write_text("\n".join(lines))
    run = _recorded(desk, "f.json")
    said = desk.muniment("replay", run, "--json")
    assert said.code == (0 if body == "1" else 1), said.err
    assert _verdict(said) == ("acceptable" if body == "1" else "unacceptable")


OUTSIDE = {
    "a file": "open(there / 'one.txt').read()",
    "many files": "[open(there / f'{n}.txt').read() for n in range(6)]",
    "names in a folder": "sorted(os.listdir(there))",
    "a link beside it": "open('link.txt').read()",
    "a link to a folder": "open('linked/one.txt').read()",
    "a name that another begins": "open(there / 'one.txt.more').read()",
    "a variable": "os.environ['ASKED_FOR']",
    "a file and a variable": "open(there / os.environ['ASKED_FOR']).read()",
    "names and a file": "open(there / sorted(os.listdir(there))[0]).read()",
}
KEPT = {
    "the ledger": "open('.muniment/ledger.db', 'rb').read(16).hex()",
    "the trust home": "len(os.listdir(os.environ['MUNIMENT_HOME']))",
    "names around the trust home": "len(os.listdir(os.path.dirname(home)))",
    "what is said of init": "open('/proc/1/comm').read()",
}
PROGRAM = """
import os
from pathlib import Path

there = Path({there!r})
home = os.environ["MUNIMENT_HOME"]

def main(run):
    try:
        return {body}
    except (OSError, KeyError) as error:
        return type(error).__name__
"""


def _outside(tmp_path: Path, desk: Newcomer, body: str, *, caught: bool = True) -> str:
    there = tmp_path / "there"
    there.mkdir()
    for name in ("one.txt", "one.txt.more", *(f"{n}.txt" for n in range(6))):
        (there / name).write_text(name)
    (desk.folder / "link.txt").symlink_to(there / "one.txt")
    (desk.folder / "linked").symlink_to(there)
    (desk.folder / "one.txt").write_text("near")
    text = PROGRAM.format(there=str(there), body=body)
    text = text if caught else text.replace("(OSError, KeyError)", "ZeroDivisionError")
    (desk.folder / "program.py").write_text(text)
    return _recorded(desk, "program.py")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no layers elsewhere")
@pytest.mark.parametrize("caught", [True, False])
@pytest.mark.parametrize("what", OUTSIDE)
def test_the_remedy_that_is_printed_works(
    tmp_path: Path, what: str, caught: bool
) -> None:
    """Whoever follows it, as often as something new is asked for, gets the verdict."""
    desk = _desk(tmp_path, ASKED_FOR="one.txt")
    run = _outside(tmp_path, desk, OUTSIDE[what], caught=caught)
    options: list[str] = []
    said = desk.muniment("replay", run, "--json")
    assert said.code == 3, said.out
    while said.code == 3:
        assert "replay/denied" in said.err
        found = re.search(r"let it have that with (.*), or replay it", said.err)
        assert found is not None, said.err
        more = shlex.split(found[1])
        assert not set(more[1::2]) <= set(options), "it was followed, and said again"
        options += more
        said = desk.muniment("replay", run, "--json", *options)
    assert _verdict(said) == "acceptable", said


@pytest.mark.skipif(sys.platform != "linux", reason="no layers elsewhere")
@pytest.mark.parametrize("what", KEPT)
def test_what_no_option_gives_is_said(tmp_path: Path, what: str) -> None:
    """The other way is named instead, and works."""
    desk = _desk(tmp_path)
    run = _outside(tmp_path, desk, KEPT[what])
    said = desk.muniment("replay", run, "--json")
    assert said.code == 3, said.out
    assert "no option gives it that: replay it in Python" in said.err
    assert "--readable" not in said.err
    text = (
        "import muniment\n"
        "with muniment.open(readonly=True) as ledger:\n"
        f"    print(muniment.replay(ledger, {run!r}).verdict)\n"
    )
    done = desk.python("-c", text)
    assert done.out.strip() == "acceptable", done.err
