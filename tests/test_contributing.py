"""What CONTRIBUTING.md says of the tree and its commands is so."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
COMMANDS, MAP = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WIDTH = 28
"""Where the map says what a path is."""
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
KERNEL, SHELL = ROOT / "ledger" / "muniment", ROOT / "cli" / "muniment_cli"
ROOTS = [ROOT, KERNEL, KERNEL / "verification", ROOT / "cli", SHELL]
PLACES = sorted(
    {one for one in re.findall(r"`([a-z_.]+/[a-z_/.]*)`", PAGE) if "." not in one}
)


def lines(text: str) -> list[str]:
    """Return the lines of a block, without comments."""
    return [line.partition("  #")[0].strip() for line in text.splitlines() if line]


def on_the_map() -> list[str]:
    """Return the paths of the map; what is indented is in the directory above it."""
    found: list[str] = []
    root = ""
    for line in MAP.splitlines():
        names = line[:WIDTH].split()
        root = root if line.startswith(" ") else ""
        found += [root + name for name in names]
        root = root or names[0]
    return found


@pytest.mark.parametrize("path", on_the_map())
def test_the_map_is_of_this_tree(path: str) -> None:
    """Every directory and file that the map names is there."""
    assert (ROOT / path).exists()


def test_the_map_has_every_room() -> None:
    """Every package of the kernel, of the box and of the roots is on the map."""
    named = set(on_the_map())
    for root in ("ledger/muniment/", "plugins/muniment_plugins/"):
        rooms = [
            one for one in (ROOT / root).iterdir() if (one / "__init__.py").exists()
        ]
        assert {f"{root}{one.name}/" for one in rooms} <= named


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_is_named_is_there(place: str) -> None:
    """`storage/append` and its like are modules or packages."""
    place = place.rstrip("/")
    found = [root / f"{place}{end}" for root in ROOTS for end in ("", ".py")]
    assert any(one.exists() for one in found)


def make_targets() -> list[str]:
    """Return the targets that any page types or names."""
    text = "\n".join(page.read_text() for page in PAGES)
    return sorted({*re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)})


@pytest.mark.parametrize("target", make_targets())
def test_make_has_the_target(target: str) -> None:
    """What a page tells to make can be made."""
    done = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", [one for one in lines(COMMANDS) if "pytest" in one])
def test_a_test_that_is_named_is_found(line: str) -> None:
    """The command line for one test selects at least one."""
    program, *arguments = shlex.split(line)
    assert program == ".venv/bin/python"
    done = subprocess.run(
        [sys.executable, *arguments, "--collect-only", "-q", "-n0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "::" in done.stdout
