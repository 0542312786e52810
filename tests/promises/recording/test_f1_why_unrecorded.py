"""A Python that was not recorded is named with the reason, if its command line says so."""

from __future__ import annotations

import pytest

from muniment_plugins.providers.recorder import bypass
from recording import PYTHON, Desk

RAN = "import subprocess, sys\nsubprocess.run([sys.executable, *sys.argv[1:]], check=True)\n"
OPTIONS = {
    "-I": "-I ignores the environment",
    "-E": "-E ignores the environment",
    "-S": "-S leaves out `site`",
    "-uIB": "-I ignores the environment",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_the_option_is_named(desk: Desk, option: str) -> None:
    """Live, of a child, in the warning at the end."""
    desk.write("agent.py", RAN)
    done = desk.record(PYTHON, "agent.py", option, "-c", "pass")
    assert done.code == 0, done.err
    assert OPTIONS[option] in done.err


LINES = {
    ("python3.8", "a.py"): "older than Python 3.9",
    ("/usr/bin/python2", "a.py"): "older than Python 3.9",
    ("python2.7", "a.py"): "older than Python 3.9",
    ("python3", "a.py", "-I"): None,
    ("python3.12", "-W", "-I", "a.py"): None,
    ("python3.9", "-WIgnore", "a.py"): None,
    ("python3.10", "-c", "-I"): None,
    ("curl", "-I", "http://h/"): None,
    ("python", "-XI", "-I", "a.py"): "-I ignores the environment",
}


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_what_a_command_line_says(line: tuple[str, ...]) -> None:
    """Only versions that are too old, and options before the script, are reasons."""
    said = bypass._name([*line])
    why = LINES[line]
    assert ("(" in said) == (why is not None), said
    assert why is None or why in said
