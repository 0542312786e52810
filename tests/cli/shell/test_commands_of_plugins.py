"""Commands that plugins bring: what they open, and whose fault it is if they break."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INSTALLED = Path(sys.executable).with_name("muniment")


COMMANDS = """
import click, muniment

@click.group()
def group(): pass

@group.command()
def size():
    with muniment.open(readonly=True) as ledger:
        click.echo(ledger.path)
"""


@pytest.mark.parametrize(
    "line",
    ["--ledger {} group size", "group --ledger {} size", "group size --ledger={}"],
)
def test_a_plugins_command_opens_the_ledger_that_is_named(
    tmp_path: Path, made: Path, line: str
) -> None:
    """``--ledger`` counts for `muniment.open`, wherever it stands, above what is near."""
    env = _with_command(tmp_path, "group = stranger_command:group", COMMANDS)
    subprocess.run([INSTALLED, "init"], cwd=tmp_path, env=env, check=True)
    done = subprocess.run(
        [INSTALLED, *line.format(made).split()],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == str(made.resolve())


@pytest.mark.parametrize(
    ("target", "text"),
    [("nowhere:x", ""), ("stranger_command:x", ""), ("stranger_command:x", "x = 1")],
)
def test_a_plugins_command_that_cannot_be_loaded_is_the_plugins_fault(
    tmp_path: Path, target: str, text: str
) -> None:
    """It is named with its package, and is not called a bug of ours."""
    env = _with_command(tmp_path, f"odd = {target}", text)
    done = subprocess.run(
        [INSTALLED, "odd"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "command odd (from stranger)" in done.stderr
    assert "[plugin/load]" in done.stderr


BUGS = """
import click

@click.group()
def scale(): pass

@scale.command()
def divide(): return 1 / 0

@scale.command()
def load(): import no_such_module

@scale.command()
def name(): from json import no_such_name

@scale.command()
def read(): open("no such file")

@scale.command()
@click.option("--level", type=int)
def use(level): raise click.UsageError("give a level")

@scale.command()
def leave(): raise click.exceptions.Exit(7)

@scale.command()
def decline(): raise click.Abort
"""


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("divide", 3, "ZeroDivisionError: division by zero [plugin/command]; this is"),
        ("load", 3, "[plugin/command]; install no_such_module, which the plugin"),
        ("name", 3, "ImportError: cannot import name 'no_such_name'"),
        ("read", 3, "FileNotFoundError"),
        ("use", 2, "give a level [cli/usage]"),
        ("use --level x", 2, "[cli/usage]"),
        ("leave", 7, ""),
        ("decline", 130, "interrupted"),
    ],
)
def test_a_bug_in_a_plugins_command_is_the_plugins(
    tmp_path: Path, line: str, code: int, said: str
) -> None:
    """It names the plugin, in one line; usage and exit codes are the command's own."""
    env = _with_command(tmp_path, "scale = stranger_command:scale", BUGS)
    command = [str(INSTALLED), "scale", *line.split()]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    if code != 3:
        return
    assert done.stderr.startswith("error: command scale (from stranger): ")
    assert "the plugin stranger" in done.stderr
    assert "[plugin/command]" in done.stderr
    assert "cli/bug" not in done.stderr
    more = subprocess.run(
        [*command, "--debug"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" in more.stderr
    assert "stranger_command.py" in more.stderr


def _with_command(place: Path, entry: str, text: str) -> dict[str, str]:
    """Install a command below *place*; return the environment that has it."""
    info = place / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: stranger\nVersion: 1\n"
    )
    (info / "entry_points.txt").write_text(f"[muniment.commands]\n{entry}\n")
    (place / "stranger_command.py").write_text(text)
    return {**os.environ, "PYTHONPATH": str(place)}
