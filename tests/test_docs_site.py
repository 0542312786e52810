"""The documentation becomes a site, or it is said why not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import docs_site  # noqa: E402 - by the line above


def built(root: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of *root* in a process of its own."""
    code = f"import docs_site; docs_site.site(Path({str(to)!r}), Path({str(root)!r}))"
    return subprocess.run(
        [sys.executable, "-c", f"from pathlib import Path; {code}"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a copy of the documentation, and of what it links to."""
    docs_site.staged(ROOT, tmp_path / "tree")
    return tmp_path / "tree"


def test_the_site_can_be_searched_without_a_network(tree: Path, tmp_path: Path) -> None:
    """Every page is in the index, and no page loads anything from elsewhere."""
    done = built(tree, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())
    found = {one["location"].partition("#")[0] for one in index["docs"]}
    names = [one.relative_to(tree) for one in tree.rglob("docs/**/*.md")]
    pages = {
        str(one.with_name("index.html" if one.stem == "README" else f"{one.stem}.html"))
        for one in names
    }
    assert found >= pages
    for page in (tmp_path / "site").rglob("*.html"):
        for mark in ('<script src="http', '<link href="http', '<img src="http'):
            assert mark not in page.read_text(), page


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("\n[a page](docs/none.md)\n", "docs/none.md"),
        ("\n[a heading](docs/why.md#none)\n", "an anchor '#none'"),
        ("\n1. a list\n   ```sh\n   muniment\n   ```\n", "blocks of code"),
    ],
)
def test_what_is_wrong_is_an_error(
    tree: Path, tmp_path: Path, wrong: str, said: str
) -> None:
    """A link, a heading or a block that leads nowhere ends the building."""
    with (tree / "README.md").open("a") as readme:
        readme.write(wrong)
    done = built(tree, tmp_path / "site")
    assert done.returncode != 0
    assert said in done.stderr
