"""Shells complete whatever can be typed: every command, also in a group, every option."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from first_hour import BIN
from muniment_cli.shell.group import DefaultGroup, command_line

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "commands.md"


def commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command with the words before it, those of groups too."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, (*words, name))


def offered(words: tuple[str, ...], begun: str) -> set[str]:
    """Return what is offered after *words* for the word that is *begun*."""
    shell = ShellComplete(command_line(), {}, "muniment", "_MUNIMENT_COMPLETE")
    return {one.value for one in shell.get_completions([*words], begun)}


LINES = {" ".join(words): command for words, command in commands(command_line())}


@pytest.mark.parametrize("line", [one for one in LINES if one])
def test_every_command_is_offered(line: str) -> None:
    """By its first letters, where its group is named, with and without a default."""
    *before, name = line.split()
    for letters in range(len(name) + 1):
        assert name in offered(tuple(before), name[:letters])


@pytest.mark.parametrize("line", LINES)
def test_every_option_is_offered(line: str) -> None:
    """Where a group has a default, its options follow the group, too."""
    command = LINES[line]
    asked = [command]
    if isinstance(command, DefaultGroup):
        asked += [command.commands[command.default]]
    for one in asked:
        for parameter in one.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                option = max(parameter.opts, key=len)
                assert option in offered(tuple(line.split()), option[:-1]), option


def test_the_groups_with_a_default_are_here() -> None:
    """What lists where nothing is named has other commands besides."""
    found = {line for line, one in LINES.items() if isinstance(one, DefaultGroup)}
    assert found == {"events", "inbox", "keys", "plugins", "runs", "sessions"}


def lines() -> dict[str, str]:
    """Return what the page prints for each shell."""
    found = re.search(
        r"^## Completion\n+```text\n(.*?)```",
        PAGE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None
    listed = [one.partition("  #")[0].strip() for one in found[1].splitlines()]
    return {one.partition("_COMPLETE=")[2].partition("_")[0]: one for one in listed}


def bash(script: str, home: Path) -> str:
    """Return what *script* prints, for a new user."""
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": f"{BIN}{os.pathsep}/usr/bin:/bin", "HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", lines())
def test_what_the_page_prints_defines_a_completion(shell: str, tmp_path: Path) -> None:
    """The command in the line that the page has for a shell prints its function."""
    asked = re.search(r"_MUNIMENT_COMPLETE=\w+ muniment", lines()[shell])
    assert asked is not None
    assert "_muniment_completion" in bash(asked[0], tmp_path)


def test_bash_completes_by_the_line_of_the_page(tmp_path: Path) -> None:
    """Typed as it is printed, it offers the commands of a group."""
    ask = (
        "COMP_WORDS=(muniment runs sh) COMP_CWORD=2\n"
        '_muniment_completion muniment\necho "${COMPREPLY[@]}"'
    )
    assert bash(f"{lines()['bash']}\n{ask}", tmp_path).split() == ["show"]
