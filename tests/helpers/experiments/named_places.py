"""An experiment with a function in every place that a plan has, each in a package.

    places_in(folder)           writes ``named_step/functions.py`` and so on
    everywhere()                imports them, and returns the experiment
    importing(folder)           another experiment, whose step imports a datasource
    edited(folder, place, how)  changes the package of one, and leaves a mark in it

Each function calls a helper beside it, so that its own text alone does not run. The
datasource fails while there is no file ``works``.
"""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muniment_plugins.harness import (
    Experiment,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    pipeline_step,
    run_metamorphic_tests,
    specify_claim,
)

__all__ = [
    "ANSWERED",
    "EDITS",
    "PLACES",
    "edited",
    "everywhere",
    "forget",
    "importing",
    "places_in",
]

CODE = "def fit_and_eval(d): return {'total': sum(d)}"
BODIES = {
    "datasource": "def named(ctx):\n    open('works').close()\n    return helped([1, 2, 3])",
    "spec_llm": "def named(*_):\n    return helped(SPEC)",
    "llm": "def named(*_):\n    return helped('x = ')",
    "repair": f"def named(*_):\n    return helped({CODE!r})",
    "treatment": "def named(ctx):\n    return helped({'share': 0.5})",
    "treated_llm": f"def named(*_):\n    return helped({CODE!r})",
    "step": "def named(data, ctx):\n    return helped(data), {'n': ctx['scorer']()}",
    "context": "def named():\n    return helped(2)",
    "transform": "def named(data):\n    return helped(data)[::-1]",
    "treated_transform": "def named(data):\n    return helped(data)[::-1]",
    "verifier": "def named(before, now):\n    return helped({'passed': True})",
}
"""Place → the function in it."""
PLACES = tuple(BODIES)
ANSWERED = ("datasource", "spec_llm", "llm", "repair", "treatment", "treated_llm")
"""The places whose answers a replay takes from the record."""
HEAD = """
SPEC = {"properties": [{"name": "p", "transform": "turned", "metric": "total"}]}

def helped(value):
    return value

"""
MARK = "\nimport marks\nmarks.left.append(__name__)\n"
EDITS: dict[str, tuple[str, Callable[[str], str]]] = {
    "a line elsewhere": ("functions.py", lambda text: text + MARK),
    "another helper": (
        "functions.py",
        lambda text: text.replace("return value\n", f"return value or None\n{MARK}"),
    ),
    "another package": ("__init__.py", lambda text: text + MARK),
    "another function": (
        "functions.py",
        lambda text: text.replace("return helped(", "return (helped)(") + MARK,
    ),
}
"""What is changed → the file, and its new text."""


def places_in(folder: Path) -> None:
    """Write a package for each place."""
    for place, body in BODIES.items():
        package = folder / f"named_{place}"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "functions.py").write_text(f"{HEAD}\n{body}\n")


def everywhere() -> Experiment:
    """Return the experiment, of the functions as they are now."""
    f = {one: _function(one) for one in PLACES}
    return (
        Experiment.builder("everywhere")
        .datasource(f["datasource"])
        .initial_ctx({"scorer": f["context"]})
        .add_step(pipeline_step(f["step"])())
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(llm=f["spec_llm"]))
        .add_step(bounded_synthesis(llm=f["llm"], attempts=2, repair=f["repair"]))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(transforms={"turned": f["transform"]}))
        .treatment("drawn", f["treatment"])
        .treatment("asked", {"llm": f["treated_llm"]})
        .treatment("turned", {"transforms": {"turned": f["treated_transform"]}})
        .hypothesis("own", verifier=f["verifier"])
        .build()
    )


def importing(folder: Path) -> Experiment:
    """Return an experiment whose step imports the datasource, from its own file."""
    text = "from named_datasource import functions\n\ndef named(data):\n    "
    (folder / "named_importer.py").write_text(f"{text}return functions.helped(data)\n")
    forget()
    step: Any = importlib.import_module("named_importer").named
    return (
        Experiment.builder("importing")
        .datasource(_function("datasource"))
        .add_step(pipeline_step(step)())
        .build()
    )


def _function(place: str) -> Any:
    return importlib.import_module(f"named_{place}.functions").named


def forget() -> None:
    """Forget the modules, as another process would."""
    for name in [one for one in sys.modules if one.startswith("named_")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    linecache.clearcache()


@contextmanager
def edited(folder: Path, place: str, how: str) -> Iterator[None]:
    """Change the package of *place* meanwhile."""
    name, change = EDITS[how]
    file = folder / f"named_{place}" / name
    before = file.read_text()
    after = change(before)
    if after == before:
        raise ValueError(f"{how} leaves {file} as it is")
    file.write_text(after)
    forget()
    try:
        yield
    finally:
        file.write_text(before)
        forget()
