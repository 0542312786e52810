"""Graphs of which a handler marks its run: the run itself, or one below it.

The same graph marks nothing while nobody asks it to, so a marked run and a plain one of it go
the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import Document, chain, stage

__all__ = ["BAD", "MARK", "PLACES", "REASON", "marking", "run_of"]

MARK = "non_certifiable"
REASON = "the data were changed by hand"
_MARKS: list[str] = []
"""With what runs are marked now."""


@contextmanager
def marking(*marks: str) -> Iterator[None]:
    """Let runs be marked with *marks*."""
    _MARKS[:] = marks
    try:
        yield
    finally:
        _MARKS.clear()


def marks(run: Run, given: StageInput) -> str:
    """Mark the run, if that is asked for; say the same in any case."""
    for mark in _MARKS:
        run.mark(mark, REASON)
    return f"made in {given.node}"


def says_little(run: Run, given: StageInput) -> str:
    """Mark the run, and say something else."""
    marks(run, given)
    return "nothing"


def marked_program(run: Run) -> str:
    """Do the same, in a run of a program."""
    for mark in _MARKS:
        run.mark(mark, REASON)
    return "same"


def calls(run: Run, given: StageInput) -> str:
    """Call the program."""
    run.call(marked_program)
    return f"made in {given.node}"


def _below(graph: Document) -> Document:
    first: Document = {"sub": {"kind": "subagent", "graph": graph}}
    return chain(**first, act=stage())


def _handled(handler: str) -> Document:
    return chain(act={"kind": "stage", "handler": f"marking_graphs:{handler}"})


PLACES: Mapping[str, Document] = MappingProxyType(
    {
        "itself": _handled("marks"),
        "a graph below": _below(_handled("marks")),
        "deep below": _below(_below(_handled("marks"))),
        "a program below": _handled("calls"),
    }
)
"""Which run is marked, and the graph in which that happens."""
BAD = _handled("says_little")
"""A graph that marks the run itself, and makes another text."""


def run_of(ledger: Ledger, place: str, *marked: str, **more: str) -> str:
    """Run the graph of *place*, *marked* with that; return the run. Of no place it is bad."""
    with marking(*marked):
        graph = PLACES.get(place, BAD)
        return workflow_execute(ledger, "T", graph, labels=more).run_id
