"""No new ledger says where a module of ours stands."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import every_kind
from editions import path_programs
from model_server import ModelServer
from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment_plugins.harness import Experiment, metamorphic
from muniment_plugins.providers import Scripted, complete
from muniment_plugins.providers.recorder.description import described
from muniment_plugins.providers.recorder.program import RecordedProgram

ROOT = Path(__file__).parents[3]
OURS = re.compile(rb"muniment_(?:plugins|cli)\b|\bmuniment(?:\.[a-z_]+)+")
OTHERS = {b"muniment.invalid", b"muniment.decision"}
"""The end of the names of logs, and of the media type of an answer."""
"""A host name of no module, in certificates of the log's entries."""


class Refusing:
    """A policy that lets no command happen."""

    @hookimpl
    def before_effect(self, kind: EffectKind) -> str | None:
        """Refuse commands."""
        return "no commands" if kind.name == "command" else None


def kernel(place: Path) -> None:
    """Make every type of event and every kind of effect, failing and refused too."""
    every_kind.make(place, notes=3).close()


def harness(place: Path) -> None:
    """Run experiments: by processes, taken over, refused and failing."""
    programs = path_programs()
    with Ledger.create(place) as ledger:
        programs.robust().register(replicates=5, ledger=ledger)
        built = programs.robust()
        result = built.run(replicates=5, executor="processes", ledger=ledger)
        result.raise_for_errors()
        replay(ledger, str(result.run_id), record=True)
        built.run(replicates=5, strategy="resume", ledger=ledger)
        bad: Any = Experiment.builder("bad").datasource(programs.measurements)
        bad = bad.pipeline(built.program.pipeline).hypothesis("m", verifier=metamorphic)
        failing = bad.treatment("escape", {"code": "import os"})
        failing = failing.treatment(
            "fails", {"code": "def fit_and_eval(d): return 1/0"}
        )
        assert failing.build().run(ledger=ledger).errors


def providers(place: Path) -> None:
    """Ask for completions that succeed, fail, and that nobody answers."""
    plugins = Plugins(extra={"script": Scripted(["one"]), "refusing": Refusing()})

    def program(run: Any) -> str:
        return complete(run, "scripted", "hi").text

    def unanswered(run: Any) -> str:
        return complete(run, "nobody:m", "hi").text

    def refused(run: Any) -> object:
        return run.effect("command", ["ls"], print)

    with Ledger.create(place, plugins=plugins) as ledger:
        assert ledger.execute(program).ok
        for failing in (program, unanswered, refused):
            assert not ledger.execute(failing).ok


def recorder(place: Path) -> None:
    """Record a program as it is, which asks a model."""
    agent = str(ROOT / "tests" / "assets" / "import-paths" / "agent.py")
    with ModelServer() as server, Ledger.create(place) as ledger:
        for url in (server.url, "http://127.0.0.1:9"):
            command = ("env", f"BASE={url}", sys.executable, agent)
            program = RecordedProgram(command)
            done = ledger.aexecute(program, params=described(command))
            assert asyncio.run(done).ok == (url == server.url)


def stranger(place: Path) -> None:
    """Use the example of a third party's plugin."""
    plugins = Plugins(extra={"greeter": _greeter()})

    def program(run: Any) -> object:
        return run.effect("greeting", {"name": "Ada"}, perform=None)

    with Ledger.create(place, plugins=plugins) as ledger:
        assert ledger.execute(program).ok


def _greeter() -> ModuleType:
    file = ROOT / "examples" / "third_party_plugin" / "muniment_greeter.py"
    spec = importlib.util.spec_from_file_location("muniment_greeter", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKERS: Mapping[str, Callable[[Path], None]] = {
    one.__name__: one for one in (kernel, harness, providers, recorder, stranger)
}


def contents(place: Path) -> list[bytes]:
    """Return every payload and every content of the ledger at *place*."""
    with sqlite3.connect(place) as database:
        found = [row[0] for row in database.execute("SELECT payload FROM event")]
        found += [row[0] or b"" for row in database.execute("SELECT data FROM blob")]
    database.close()
    files = place.with_name(f"{place.name}.blobs")
    found += [one.read_bytes() for one in sorted(files.glob("*"))]
    return found


@pytest.mark.parametrize("maker", MAKERS)
def test_no_module_path_of_ours_is_signed(maker: str, tmp_path: Path) -> None:
    """Whatever is recorded, names what is in the box by names that do not move.

    A path of ours in a record is a format: give the thing a name of its own.
    """
    place = tmp_path / "ledger.db"
    MAKERS[maker](place)
    texts = contents(place)
    said = {found for text in texts for found in OURS.findall(text)} - OTHERS
    assert not said, [text[:600] for text in texts if any(one in text for one in said)]


def test_such_a_path_would_be_found(tmp_path: Path) -> None:
    """What the test above looks for is what the first edition said."""
    place = tmp_path / "ledger.db"
    with Ledger.create(place) as ledger:
        ledger.append("note.added", {"text": "muniment_plugins.harness.programs:X"})
        ledger.append("note.added", {"text": "raised muniment.errors.RefusedError"})
    said = {found for text in contents(place) for found in OURS.findall(text)}
    assert {b"muniment_plugins", b"muniment.errors"} <= said
