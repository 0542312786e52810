"""The documentation is whole: links resolve, commands exist, tables are complete.

That its pages can be followed is tested in promises/first_hour/test_d2_every_page_is_followed.py.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from muniment import hookspecs
from muniment_cli.shell.group import DefaultGroup, command_line
from muniment_cli.shell.table import entries

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")


def names(pages: list[Path]) -> list[str]:
    """Return what pytest calls *pages*."""
    return [str(page.relative_to(ROOT)) for page in pages]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of the fenced blocks of *page*."""
    return BLOCK.findall(page.read_text())


def pattern(text: str) -> str:
    """Return *text* as a pattern: ``…`` is anything, and so is a hash."""
    free = re.sub(r"\b[0-9a-f]{16,}\b", "…", text)
    return ".*?".join(re.escape(part) for part in free.split("…"))


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links(page: Path) -> None:
    """Every link to a file of the tree leads to one, and to a heading in it."""
    for target in LINK.findall(page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page

        assert file.exists(), f"{page.name}: {target}"
        if heading:
            assert heading in headings(file), f"{page.name}: {target}"


def headings(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-")
        for title in titles
    }


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_no_page_is_lost(page: Path) -> None:
    """Every page can be reached from the README, in one step or two."""
    readme = ROOT / "README.md"
    first = {readme, *_linked(readme)}
    second = {other for one in first for other in _linked(one)}

    assert page.resolve() in first | second


def _linked(page: Path) -> set[Path]:
    targets = LINK.findall(page.read_text())
    local = {one.partition("#")[0] for one in targets if "://" not in one}
    return {(page.parent / one).resolve() for one in local if one.endswith(".md")}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_commands_exist(page: Path) -> None:
    """Every command that a page names is one that the shell has."""
    named = set(re.findall(r"`muniment ([a-z]+)", page.read_text()))

    assert named | typed(page) <= entries().keys()


def typed(page: Path) -> set[str]:
    """Return the commands that the shell blocks of *page* type."""
    lines = "".join(text for language, text in blocks(page) if language == "sh")
    return set(re.findall(r"^muniment ([a-z]+)", lines, re.MULTILINE))


def shell_lines() -> list[str]:
    """Return the command lines that the pages type, without their comments."""
    return sorted(
        {
            line.partition("  #")[0].strip()
            for page in PAGES
            for language, text in blocks(page)
            if language == "sh"
            for line in text.replace("\\\n", "").splitlines()
            if line.startswith("muniment ")
        }
    )


@pytest.mark.parametrize("line", shell_lines())
def test_options_exist(line: str) -> None:
    """Every option that a page types is one of its command."""
    words = shlex.split(line)[1:]
    command: click.Command = command_line()
    context = click.Context(command)
    while isinstance(command, click.Group) and words and words[0].islower():
        found = command.get_command(context, words[0])
        if found is None:
            break
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    if isinstance(command, DefaultGroup):
        command = command.get_command(context, command.default) or command
    known = {name for one in command.get_params(context) for name in one.opts}

    assert {word for word in words if re.match("--?[a-z]", word)} <= known


def test_commands_are_there(tmp_path: Path) -> None:
    """Every command of the README answers to --help."""
    script = Path(sys.executable).with_name("muniment")
    for name in sorted(typed(ROOT / "README.md")):
        done = subprocess.run(
            [script, name, "--help"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Usage: muniment {name}")


def test_no_place_of_one_machine() -> None:
    """No tracked text names a directory of the machine it was written on."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    home = re.compile(r"(?<![\w$}.~])/(work|farm|root|tmp/\w|home/(?!ada/))[/\w]*/\w+")
    for name in filter(None, tracked.stdout.split("\0")):
        file = ROOT / name
        if not name.startswith("tests/") and file.exists():
            found = home.search(file.read_text(errors="replace"))
            assert found is None, f"{name}: {found}"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """Give the script that writes the reference."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("docs")
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize(
    "name",
    ["evals.md", "events.md", "failures.md", "hooks.md", "rules.md", "workflow.md"],
)
def test_reference_is_current(pages: ModuleType, name: str) -> None:
    """The reference says what the code says: `make docs` after a change."""
    written = (ROOT / "docs" / "reference" / name).read_text()

    assert written == pages.page(name)


def test_every_rule_is_listed() -> None:
    """Every rule that the kernel or the shell spells has a line in the reference."""
    page = (ROOT / "docs" / "reference" / "rules.md").read_text()
    spelled = {
        rule
        for top in ("ledger/muniment", "cli/muniment_cli")
        for file in (ROOT / top).rglob("*.py")
        for rule in re.findall(r'rule="([a-z-]+/[a-z0-9-]+)"', file.read_text())
    }

    assert {rule for rule in spelled if f"| `{rule}` |" not in page} == set()


def test_every_hook_is_listed() -> None:
    """Every hook has a heading and all its arguments in the reference."""
    page = (ROOT / "docs" / "reference" / "hooks.md").read_text()
    for name, function in vars(hookspecs).items():
        if hasattr(function, f"{hookspecs.GROUP}_spec"):
            assert f"\n## {name}\n" in page
            section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
            for argument in inspect.signature(function).parameters:
                assert argument in section


def test_glossary_is_sorted() -> None:
    """The glossary has each word once, in the order of a dictionary."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    words = re.findall(r"^\*\*([^*]+)\*\*:", text, re.MULTILINE)

    assert words == sorted(set(words), key=str.casefold)


def test_the_crosswalk_names_commands_that_its_page_runs() -> None:
    """Each command in a cell of a table is in the shell blocks, which a test types."""
    page = ROOT / "docs" / "crosswalk.md"
    typed = {
        line
        for language, text in blocks(page)
        if language == "sh"
        for line in text.splitlines()
    }
    rows = [one for one in page.read_text().splitlines() if one.startswith("| ")]
    named = {one for row in rows for one in re.findall(r"`(muniment [^`]+)`", row)}

    assert len(named) > 10
    assert named <= typed
