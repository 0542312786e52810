"""What errors say is written as plugins let it be written, and replays so."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run

HIDDEN = "[hidden: plugin other failed with LookupError]"


class Hider:
    """Takes a word out of errors, and fails when told to."""

    def __init__(self, word: str, *, broken: bool = False) -> None:
        self.word, self.broken = word, broken

    @hookimpl
    def hide_secrets(self, text: str) -> str:
        """Leave out the word."""
        if self.broken:
            raise LookupError(f"{self.word} is not known")
        return text.replace(self.word, "…")


class Observer:
    """Cannot take in what was written."""

    @hookimpl
    def after_append(self) -> None:
        """Fail, naming the word."""
        raise OSError("ada is full")


def fail(_: object) -> object:
    """Fail, naming both words."""
    raise ValueError("ada or bob said it")


def program(run: Run) -> None:
    """Ask what fails."""
    run.effect("llm", {"prompt": "?"}, fail)


@pytest.mark.parametrize(
    ("broken", "told"), [(False, "… or … said it"), (True, HIDDEN)]
)
def test_each_plugin_hides_what_it_knows(
    tmp_path: Path, broken: bool, told: str
) -> None:
    """One after the other; where one cannot say, nothing of the text is written."""
    hiders = {"one": Hider("ada"), "other": Hider("bob", broken=broken)}
    place = tmp_path / "ledger.db"
    with Ledger.create(place, plugins=Plugins((), hiders)) as ledger:
        done = ledger.execute(program)
        (failed,) = ledger.events(run=done.run_id, type="llm.failed")
        (ended,) = ledger.events(run=done.run_id, type="run.failed")
        assert ledger.resolve(failed)["message"] == told
        assert told in str(ledger.resolve(ended)["message"])
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert b"bob" not in place.read_bytes()


def test_failures_of_plugins_are_hidden_too(tmp_path: Path) -> None:
    """What an observer's error says goes the same way."""
    plugins = Plugins((), {"hider": Hider("ada"), "observer": Observer()})
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger:
        ledger.append("note.added", {"text": "x"})
        (failed,) = ledger.events(type="plugin.failed")
        assert ledger.resolve(failed)["message"] == "… is full"
