"""Arguments that no record can hold are refused before anything runs."""

from __future__ import annotations

import shutil

import pytest

from recording import PYTHON, Desk

CALLS = "import os, requests\nrequests.get(os.environ['BASE'] + '/echo')\n"


@pytest.mark.parametrize("verb", ["record", "replay", "resume"])
@pytest.mark.parametrize(
    ("line", "place"),
    [
        ((PYTHON, "agent.py", "\udcff"), "argument 2 of the command"),
        ((PYTHON, "agent\udcff.py"), "argument 1 of the command"),
        (("python\udcff",), "the command"),
    ],
    ids=["argument", "script", "program"],
)
def test_what_is_no_text_is_refused(
    desk: Desk, verb: str, line: tuple[str, ...], place: str
) -> None:
    """An argument that is not UTF-8 cannot be in any record; it says which one it is."""
    desk.write("agent.py", f"{CALLS}raise SystemExit(1)\n")
    run = desk.record(PYTHON, "agent.py").run
    shutil.copy(desk.place / "agent.py", desk.place / "agent\udcff.py")
    calls = len(desk.server.calls)
    told = desk.muniment(verb, *([] if verb == "record" else [run]), "--", *line)
    assert (told.code, told.out) == (2, "")
    assert f"error: {place}: it is not UTF-8, as a record has to be" in told.err
    assert "[record/command]; spell it in UTF-8" in told.err
    assert len(desk.server.calls) == calls
    assert desk.facts(run).status == "failed"
