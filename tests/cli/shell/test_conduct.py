"""What every command keeps to: one line, one code, nothing loaded for nothing."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import muniment
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_cli.commands.keep import forget
from muniment_cli.shell.group import command_line
from muniment_cli.shell.table import SECTIONS, entries
from muniment_cli.terminal.output import clean

INSTALLED = Path(sys.executable).with_name("muniment")
HEAVY = (
    "sqlalchemy",
    "sqlmodel",
    "pydantic",
    "rich",
    "cryptography",
    "traceback",
    "muniment",
)


def imported(*arguments: str) -> set[str]:
    """Return the modules that a command line imports."""
    code = f"import sys; from muniment_cli import main; sys.exit(main({arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize("arguments", [("--help",), (), ("--version",)])
def test_help_loads_click_and_no_more(arguments: tuple[str, ...]) -> None:
    """The help is printed without the database, the models, or any plugin."""
    loaded = imported(*arguments)
    assert "click" in loaded
    assert not [name for name in HEAVY if name in loaded]
    assert not [name for name in loaded if name.startswith("muniment_plugins")]


def test_help_names_every_command(shell: Any) -> None:
    """Each command of the table stands in the help, with one line."""
    said = shell("--help").out
    for _, section in SECTIONS:
        for entry in section:
            assert entry.name in said
            assert entry.help.split()[0] in said


@pytest.mark.parametrize("name", sorted(entries()))
def test_every_command_shows_an_example(shell: Any, name: str) -> None:
    """A command, and each of its subcommands, has a help with an example."""
    done = shell(name, "--help")
    assert done.code == 0, done.err
    assert f"muniment {name}" in done.out.partition("Example")[2]
    command = command_line().get_command(click.Context(command_line()), name)
    for under in getattr(command, "commands", {}):
        help_text = shell(name, under, "--help").out
        assert f"muniment {name}" in help_text.partition("Example")[2], under


@pytest.mark.parametrize("group", ["keys", "runs", "events", "plugins"])
def test_no_help_is_cut(shell: Any, group: str) -> None:
    """The list of a group's commands has their whole first sentences."""
    listed = shell(group, "--help").out.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


def test_without_arguments_the_help_is_shown(shell: Any) -> None:
    """Who types the bare name learns what there is."""
    assert shell().out == shell("--help").out
    assert shell("-h").code == 0


def test_mistyped_commands_are_guessed(shell: Any) -> None:
    """A typo names the command that was probably meant, exit code 2."""
    done = shell("verfiy")
    assert (done.code, done.out) == (2, "")
    assert "did you mean verify?" in done.err
    assert done.err.count("\n") == 1
    nested = shell("keys", "rotat")
    assert nested.code == 2
    assert "rotate" in nested.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [("help", "--help"), ("version", "--version"), ("runs help", "--help")],
)
def test_commands_that_are_options_are_guessed(
    shell: Any, words: str, meant: str
) -> None:
    """``muniment help`` names the option that people mean."""
    done = shell(*words.split())
    assert (done.code, done.out) == (2, "")
    assert f"did you mean {meant}?" in done.err


def test_mistyped_options_are_guessed(shell: Any) -> None:
    """A wrong option names the right one."""
    done = shell("verify", "--fats")
    assert done.code == 2
    assert "--fast" in done.err
    assert done.err.count("\n") == 1


def test_global_options_stand_anywhere(shell: Any, made: Path) -> None:
    """--ledger is taken before the command, behind it, and behind a subcommand."""
    for line in (
        ("--ledger", made, "status", "--json"),
        ("status", "--ledger", made, "--json"),
        ("keys", "--ledger", made, "--json"),
        ("keys", "list", "--json", f"--ledger={made}"),
    ):
        assert shell(*line).json, line


def test_an_unexpected_exception_is_one_line(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug says that it is one and exits 3; --debug shows where."""

    def break_down(*_: object, **__: object) -> int:
        raise ZeroDivisionError("boom\nand more")

    monkeypatch.setattr(forget.command, "callback", break_down)
    done = shell("forget", "x")
    assert done.code == 3
    assert done.err.startswith("error: ZeroDivisionError: boom")
    assert "bug in muniment" in done.err


def test_debug_shows_the_rest(installed: Any, work: Path) -> None:
    """With --debug the traceback comes before the one line."""
    with pytest.raises(AssertionError, match="Traceback"):
        installed("forget", "x", "--debug")
    assert work.exists()


def test_a_known_error_keeps_its_code(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Message, rule and remedy are one line; the code is the error's own."""

    def refuse(*_: object, **__: object) -> int:
        raise RefusedError("no", rule="policy/no", place="here", remedy="ask")

    monkeypatch.setattr(forget.command, "callback", refuse)
    done = shell("forget", "x")
    assert (done.code, done.err) == (4, "error: here: no [policy/no]; ask\n")


def test_an_interruption_is_one_line(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with 130 and no traceback."""

    def interrupt(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(forget.command, "callback", interrupt)
    done = shell("forget", "x")
    assert done.code == 130
    assert done.err == "error: interrupted\n"


def test_a_closed_pipe_is_silent(made: Path) -> None:
    """Who stops reading gets no complaint."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [INSTALLED, "--ledger", made, "keys", "export"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def on_a_terminal(*arguments: object, **environment: str) -> bytes:
    """Return what a terminal of 80 columns shows."""
    master, slave = pty.openpty()
    env = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color", **environment}
    with subprocess.Popen(
        [INSTALLED, *map(str, arguments)], stdout=slave, stderr=slave, env=env
    ) as child:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(master)
    assert child.returncode == 0
    return shown


def test_colours_are_for_terminals_that_want_them(made: Path, shell: Any) -> None:
    """Colour is there on a terminal, and off in a pipe, with NO_COLOR, on request."""
    line = ("--ledger", made, "verify")
    assert b"\x1b[32m" in on_a_terminal(*line)
    assert b"\x1b[32m" not in on_a_terminal(*line, NO_COLOR="1")
    assert b"\x1b[32m" not in on_a_terminal(*line, "--no-color")
    assert "\x1b" not in shell(*line).out


def test_ids_are_whole_on_a_narrow_terminal(made: Path) -> None:
    """An id that the terminal folds is still one word to copy."""
    with Ledger.open(made, readonly=True) as ledger:
        assert ledger.id.encode() in on_a_terminal("--ledger", made, "status")


def test_control_characters_are_shown_not_obeyed(shell: Any, made: Path) -> None:
    """What stands in a ledger cannot move the cursor of whoever reads it."""
    assert clean("a\x1b[2Jb\x07\n") == "a\\x1b[2Jb\\x07\n"
    done = shell("--ledger", made, "keys", "export", "no\x1b[31msuch")
    assert "\x1b" not in done.err


def test_plugin_commands_are_listed_without_being_imported(tmp_path: Path) -> None:
    """A command of a plugin is known by its entry point, and run when it is called."""
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: stranger\nVersion: 1\n"
    )
    (info / "entry_points.txt").write_text(
        "[muniment.commands]\ngreet = stranger_command:greet\n"
    )
    (tmp_path / "stranger_command.py").write_text(
        "import click\n@click.command()\ndef greet():\n    click.echo('hello')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> str:
        code = (
            "import sys; from muniment_cli import main; code = main(sys.argv[1:]); "
            "print('stranger_command' in sys.modules); sys.exit(code)"
        )
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=env,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    said = run("--help")
    assert "greet" in said
    assert "(from stranger)" in said
    assert said.endswith("False\n")
    assert run("greet") == "hello\nTrue\n"


def completed(line: str, word: int) -> list[str]:
    """Return what bash would be offered."""
    env = {
        **os.environ,
        "_MUNIMENT_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(word),
    }
    said = subprocess.run(
        [INSTALLED], env=env, check=True, capture_output=True, text=True
    ).stdout
    return [one.partition(",")[2] for one in said.split()]


def test_completion_knows_commands_runs_and_types(made: Path, work: Path) -> None:
    """Commands complete from the table; runs and types from the ledger."""
    with muniment.open() as ledger, ledger.run("one") as run:
        wanted = run.id
    assert made.is_relative_to(work)
    assert completed("muniment ver", 1) == ["verify"]
    assert completed(f"muniment prove {wanted[:4]}", 2) == [wanted]
    assert completed("muniment events list --type note", 4) == ["note.added"]
    assert completed("muniment --ledger nowhere prove 0", 4) == []
