"""Objects that are called, as programs and functions: named, found, and told apart."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from muniment.errors import CannotTellError, RefusedError
from muniment.ledger import Ledger
from muniment.programs.functions import describe, find
from muniment.programs.references import refer
from muniment.replays.replay import replay

JUDGES = """
import functools


class Scorer:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, run):
        return self.limit

    def strict(self, run):
        return -self.limit


scorer = Scorer(3)
made = [Scorer(4)]
part = functools.partial(print, 1)
"""


@pytest.fixture
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give a module with objects, which is not installed."""
    (tmp_path / "judges_of_test.py").write_text(JUDGES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "judges_of_test", raising=False)
    monkeypatch.chdir(tmp_path)
    return importlib.import_module("judges_of_test")


def test_an_object_is_named_by_its_statement(judges: ModuleType) -> None:
    """It has an import path, a source digest and files, as a function has."""
    told = describe(judges.scorer)
    assert told["import"] == "judges_of_test:scorer"
    assert str(told["source"]).startswith("sha256:")
    assert told["file"] == "judges_of_test.py"
    assert list(refer(judges.scorer)) == ["import", "source"]
    assert refer(judges.scorer.strict)["import"] == "judges_of_test:scorer.strict"
    assert refer(judges.part)["import"] == "judges_of_test:part"


@pytest.mark.parametrize("by", ["files", "source"])
@pytest.mark.parametrize("name", ["scorer", "scorer.strict"])
def test_it_is_found_again(judges: ModuleType, name: str, by: str) -> None:
    """What is found is the object itself, whether or not its file was recorded."""
    owner, _, method = name.partition(".")
    given = getattr(judges, owner)
    told: Any = (describe if by == "files" else refer)(
        getattr(given, method) if method else given
    )
    del sys.modules[judges.__name__]
    found: Any = find(told, "r")
    assert found(None) == (-3 if method else 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [("Scorer(3)", "Scorer(5)"), ("return self.limit", "return 7")],
)
def test_another_object_is_another(
    judges: ModuleType, tmp_path: Path, before: str, after: str
) -> None:
    """Other arguments, or another class, are another source, and not what ran."""
    told: Any = refer(judges.scorer)
    (tmp_path / "judges_of_test.py").write_text(JUDGES.replace(before, after))
    del sys.modules[judges.__name__]
    with pytest.raises(RefusedError, match="its file changed"):
        find(told, "r")


def test_an_object_without_a_name_is_not_found(judges: ModuleType) -> None:
    """What no statement names is known by its class, which is not taken for it."""
    told: Any = describe(judges.made[0])
    assert told["import"] == "judges_of_test:Scorer.<instance>"
    assert "source" in told
    strict = describe(judges.made[0].strict)["import"]
    assert strict == "judges_of_test:Scorer.<instance>.strict"
    partial = describe(functools.partial(print, 2))["import"]
    assert partial == "functools:partial.<instance>"
    with pytest.raises(CannotTellError, match=r"give the program"):
        find(told, "r")


def test_a_class_is_a_function(judges: ModuleType) -> None:
    """A class that is called keeps the name that it always had."""
    assert refer(judges.Scorer)["import"] == "judges_of_test:Scorer"


def test_a_run_of_an_object_replays(ledger: Ledger, judges: ModuleType) -> None:
    """A program may be an object: a replay finds it by what the run recorded."""
    run = ledger.execute(judges.scorer).run_id
    del sys.modules[judges.__name__]
    report = replay(ledger, run)
    assert report.verdict == "acceptable"


SCRIPT = """
import muniment

class Twice:
    def __call__(self, run):
        return 2 * run.effect("data", {"name": "n"}, lambda _: 21)

twice = Twice()

if __name__ == "__main__":
    ledger = muniment.Ledger.create("ledger.db", home="home")
    run = ledger.execute(twice).run_id
    print(muniment.replay(ledger, run).verdict, run)
"""
AFTERWARDS = """
import muniment, sys
ledger = muniment.Ledger.open("ledger.db", home="home")
print(muniment.replay(ledger, sys.argv[1]).verdict)
"""


def test_an_object_of_a_script(tmp_path: Path) -> None:
    """The script finds its own object, and another process finds it in the script."""

    def script(name: str, text: str, *arguments: str) -> list[str]:
        (tmp_path / name).write_text(text)
        command = [sys.executable, name, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    verdict, run = script("one.py", SCRIPT)
    assert verdict == "acceptable"
    assert script("other.py", AFTERWARDS, run) == ["acceptable"]


def test_a_file_that_ends_in_its_last_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function is what was recorded where no newline ends its file."""
    (tmp_path / "cut_off_of_test.py").write_text("def main(run):\n    return 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("cut_off_of_test")
    told: Any = refer(module.main)
    del sys.modules["cut_off_of_test"]
    assert find(told, "r")(None) == 1
