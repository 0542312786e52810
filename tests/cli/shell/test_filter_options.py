"""The options that narrow lists: one for each filter of the ledger, and no others."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import muniment

OTHERS = {"as_json", "as_jsonl", "follow", "ledger", "debug", "no_color"}
"""Options that say how a list is printed, and those of every command."""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--status complete", "did you mean completed?"),
        ("--stauts failed", "--status"),
        ("--label team", "--label takes KEY=VALUE"),
        ("--since soon", "not a time"),
    ],
)
def test_a_misspelt_filter_is_refused(
    shell: Any, made: Path, options: str, said: str
) -> None:
    """With the nearest name, by the list as by the tallies."""
    assert made.exists()
    for command in ("list", "stats"):
        done = shell("runs", command, *options.split())
        assert (done.code, said in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("events", "list"), muniment.EventFilters),
        (("events", "tail"), muniment.EventFilters),
        (("runs", "list"), muniment.RunFilters),
        (("runs", "stats"), muniment.RunFilters),
    ],
)
def test_options_are_the_words_of_the_ledger(
    command: tuple[str, str], words: type
) -> None:
    """There is one grammar: an option for each filter, under its name."""
    group: Any = import_module(f"muniment_cli.commands.look.{command[0]}").command
    options = {one.name for one in group.commands[command[1]].params}
    asked = {*words.__annotations__} - {"from_seq", "to_seq", "limit", "order"}
    assert asked <= options
    assert options - asked <= {"limit", "order", *OTHERS}
