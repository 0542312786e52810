"""What is printed as JSON is JSON, whatever the value; and nobody waits for NaN seconds."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_cli.terminal.json_text import json_text

Shell = Any

_PLAIN: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=4)
)
_HASHED = st.one_of(_PLAIN, st.binary(max_size=3), st.floats(), st.tuples(_PLAIN))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        _HASHED,
        st.frozensets(_HASHED, max_size=3),
        st.just(datetime(2026, 1, 1, tzinfo=UTC)),
        st.just(Path("a")),
        st.complex_numbers(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(_HASHED, inner, max_size=3),
    ),
    max_leaves=8,
)


def strictly(text: str) -> Any:
    """Return the JSON in a text that has nothing which JSON lacks."""

    def refuse(word: str) -> NoReturn:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@given(VALUES)
def test_any_value_is_json(value: Any) -> None:
    """Every reader takes what is printed for any value, on one line and on several."""
    assert strictly(json_text(value)) == strictly(json_text(value, indent=2))


@given(
    st.recursive(_PLAIN, lambda one: st.lists(one) | st.dictionaries(st.text(), one))
)
def test_what_json_has_is_written_as_it_is(value: Any) -> None:
    """A value of JSON comes back equal."""
    assert strictly(json_text(value)) == value


def test_forms_of_what_json_lacks() -> None:
    """NaN has the form that it has in events; bytes are hexadecimal, sets are lists."""
    value = {"n": float("nan"), "b": b"\x01", "s": {"b", "a"}, 1: {2, "x"}}
    assert strictly(json_text(value)) == {
        "n": {"$float": "nan"},
        "b": "01",
        "s": ["a", "b"],
        "1": [2, "x"],
    }


HANDLERS = """
from muniment.errors import UsageError

def tell(run, stage):
    refused = 0
    for odd in (float("nan"), b"x", {1, "a"}):
        try:
            stage.mail.publish_query("odd", {"odd": odd})
        except UsageError:
            refused += 1
    stage.mail.publish_query("odd", {"refused": refused, "text": "\\x1b\\u202e"})
    mail = stage.mail.receive("go")
    stage.mail.respond_update(mail, [1e300, ("a", None)])
    return "done"
"""


@pytest.fixture
def run(shell: Shell) -> Any:
    """Return a run that waits for a letter, and tried to publish what JSON lacks."""
    sys.modules.pop("odd_handlers", None)
    Path("odd_handlers.py").write_text(HANDLERS)
    Path("g.json").write_text(
        json.dumps({"nodes": {"a": {"handler": "odd_handlers:tell"}}})
    )
    assert shell("init").code == 0
    shell("run", "g.json")
    yield shell("runs", "list", "--json").json[0]["id"]
    sys.modules.pop("odd_handlers", None)


def test_the_commands_of_mail(run: str, shell: Shell) -> None:
    """Queries, mail and status are JSON, whatever a handler publishes or answers."""
    shell("workflow", "update", run, "go", "--payload", "1", "--wait", "0")
    assert shell("resume", run).code == 0
    for words in (
        ("query", run, "odd"),
        ("query", run, "odd", "--json"),
        ("query", run, "--json"),
        ("mail", run, "--json"),
    ):
        done = shell("workflow", *words)
        assert done.code == 0
        strictly(done.out)
    (row,) = strictly(shell("workflow", "mail", run, "--json").out)
    assert row["value"] == [1e300, ["a", None]]
    odd = shell("workflow", "query", run, "odd", "--json")
    assert '"refused": 3' in odd.out or '"refused":3' in odd.out


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "1e300", "soon"])
def test_what_nobody_can_wait_for(run: str, shell: Shell, seconds: str) -> None:
    """Seconds that nobody can wait for are refused by each command, and nothing is sent."""
    done = shell("workflow", "update", run, "go", "--wait", seconds)
    assert (done.code, "--wait" in done.err) == (2, True)
    assert shell("workflow", "mail", run, "--json").json == []
    for words in (("replay", run), ("query", "select 1")):
        done = shell(*words, "--timeout", seconds)
        assert done.code == 2 or seconds == "1e300"


@pytest.mark.parametrize("kind", ["fifo", "device", "large"])
def test_files_that_are_none(run: str, shell: Shell, kind: str) -> None:
    """A FIFO, a device and what is too large are refused, and not waited for."""
    path = {"fifo": "pipe", "device": "/dev/zero", "large": "large.json"}[kind]
    if kind == "fifo":
        os.mkfifo(path)
    if kind == "large":
        Path(path).write_bytes(b'"' + b"x" * (5 << 20) + b'"')
    done = shell("workflow", "signal", run, "go", "--payload-file", path)
    assert (done.code, "cannot be read" in done.err) == (2, True)
