"""The documentation as a site that can be searched, without a network.

    python tools/docs_site.py [FOLDER]        writes it to build/site, or to FOLDER

Rules:

- Pages stand in the site as they stand in the tree, README first, so that a link means
  the same in both; headings have the anchors that GitHub gives them.
- It is built strictly: a link without a target, a heading that is not there, a page
  that the menu lacks and a block of code that came out as text are errors.
"""

from __future__ import annotations

import html
import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path

from properdocs.commands.build import build
from properdocs.config import load_config
from properdocs.exceptions import Abort

__all__ = ["github_anchor", "main", "site", "staged"]

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PARTS = ("how-to", "reference", "spec", "adr")
FENCE = re.compile(r"^( *)```\w.*?^\1```$", re.MULTILINE | re.DOTALL)
INFO = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
"""What our tests read behind the language, and Markdown does not know."""

LINK = re.compile(r"\[[^\]]+\]\(([^)\s#]+)[^)\s]*\)")


def github_anchor(title: str, separator: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    del separator
    words = re.sub(r"[^\w\- ]", "", html.unescape(title).lower())
    return words.strip().replace(" ", "-")


def staged(root: Path, place: Path) -> list[Path]:
    """Copy the pages, and whatever they link to, to *place*; return the pages."""
    found = {root / name for name in PAGES} | {*(root / "docs").rglob("*.md")}
    waiting = [*found]
    while waiting:
        file = waiting.pop()
        copy = place / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix != ".md":
            shutil.copyfile(file, copy)
            continue
        text = file.read_text()
        copy.write_text(INFO.sub(r"\1", text))
        linked = {(file.parent / target).resolve() for target in LINK.findall(text)}
        new = {one for one in linked - found if one.is_file()}
        found |= new
        waiting += new
    return sorted(one for one in found if one.suffix == ".md")


def _menu(names: list[str]) -> list[object]:
    """Return what the site shows beside each page: every page, once."""
    docs = [one for one in names if one.startswith("docs/") and one.count("/") == 1]
    parts = {
        part: [n for n in names if n.startswith(f"docs/{part}/")] for part in PARTS
    }
    shown = {"README.md", *docs, *(name for part in parts.values() for name in part)}
    rest = [one for one in names if one not in shown]
    sections = [{part: pages} for part, pages in parts.items()]
    return ["README.md", *docs, *sections, {"about": rest}]


def _check_blocks(root: Path, pages: list[Path], made: Path) -> None:
    """Compare the blocks of code of each page with those of the site."""
    for page in pages:
        name = page.relative_to(root)
        built = made / name.with_suffix(".html")
        if page.name == "README.md":
            built = built.with_name("index.html")
        asked = len(FENCE.findall(page.read_text()))
        shown = built.read_text().count('<code class="language-')
        if asked != shown:
            raise SystemExit(f"{name}: {asked} blocks of code became {shown}")


def site(folder: Path, root: Path = ROOT) -> int:
    """Write the site of the tree *root* to *folder*; return how many pages it has."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    with tempfile.TemporaryDirectory() as place:
        pages = staged(root, Path(place))
        config = load_config(
            str(ROOT / "tools" / "docs_site.yml"),
            docs_dir=place,
            site_dir=str(folder),
            strict=True,
            nav=_menu([str(one.relative_to(root)) for one in pages]),
            markdown_extensions=[
                "tables",
                "fenced_code",
                {"toc": {"slugify": github_anchor, "permalink": True}},
            ],
        )
        build(config)
    _check_blocks(root, pages, folder)
    return len(pages)


def main() -> None:
    """Write the site, and say where it is."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")
    try:
        count = site(folder.resolve())
    except Abort as error:
        raise SystemExit(error.code) from None
    print(f"{count} pages: {folder}/index.html")


if __name__ == "__main__":
    main()
