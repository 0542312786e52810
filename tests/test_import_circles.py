"""No module of ours imports itself by way of others, however late or only in a name.

Rules: an import counts at the top of a module, under ``TYPE_CHECKING`` and inside a
function alike. A circle whose cut would make the code worse is listed with the reason,
and must still be one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("ledger/muniment", "plugins/muniment_plugins", "cli/muniment_cli")

KEPT: Mapping[frozenset[str], str] = {}
"""The modules of a circle → why it stays."""

Graph = dict[str, dict[str, list[int]]]
"""Module → imported module → the lines that import it."""


def modules(root: Path) -> dict[str, Path]:
    """Return the files of our modules by dotted name."""
    found: dict[str, Path] = {}
    for top in PACKAGES:
        for file in sorted((root / top).rglob("*.py")):
            parts = file.relative_to((root / top).parent).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


def imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what a module imports wherever it does, with the line; names, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((one.name, node.lineno) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                yield f"{node.module}.{one.name}", node.lineno


def graph_of(files: Mapping[str, Path]) -> Graph:
    """Return which of the modules *files* import which, and where."""
    graph: Graph = {}
    for name, file in files.items():
        edges = graph.setdefault(name, {})
        for wanted, line in imports(ast.parse(file.read_text())):
            home = wanted if wanted in files else wanted.rpartition(".")[0]
            if home in files and home != name:
                edges.setdefault(home, []).append(line)
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """Return the modules that *start* imports, directly or through others."""
    found, waiting = set[str](), [*graph[start]]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += graph[one]
    return found


def circles(graph: Graph) -> set[frozenset[str]]:
    """Return the sets of modules that import each other, each set as large as it is."""
    below = {one: reachable(graph, one) for one in graph}
    return {
        frozenset(other for other in below[one] if one in below[other])
        for one in graph
        if one in below[one]
    }


def drawn(graph: Graph, circle: frozenset[str]) -> str:
    """Return *circle* as text: each import inside it, with its lines."""
    rows = [
        f"    {one}:{','.join(map(str, sorted({*lines})))} imports {other}"
        for one in sorted(circle)
        for other, lines in sorted(graph[one].items())
        if other in circle
    ]
    return "\n".join([f"a circle of {len(circle)} modules:", *rows])


def test_no_circle() -> None:
    """Nothing imports itself by way of others; the circles that stay are named."""
    graph = graph_of(modules(ROOT))
    found = circles(graph)
    new = [drawn(graph, one) for one in sorted(found - KEPT.keys(), key=sorted)]

    assert not new, "\n".join(["", *new])
    assert KEPT.keys() <= found, "a circle that is listed is none any more"
    assert all(KEPT.values())


@pytest.mark.parametrize(
    "late",
    [
        "from muniment.b import thing",
        "from muniment import b",
        "import muniment.b",
        "if TYPE_CHECKING:\n    from muniment.b import Thing",
        "def call():\n    from muniment.b import thing",
        "class A:\n    def call(self):\n        import muniment.b as other",
    ],
)
def test_every_import_counts(tmp_path: Path, late: str) -> None:
    """A circle is found through an import of any form, and drawn with its lines."""
    for top in PACKAGES:
        (tmp_path / top).mkdir(parents=True)
        (tmp_path / top / "__init__.py").touch()
    folder = tmp_path / PACKAGES[0]
    (folder / "a.py").write_text(late)
    (folder / "b.py").write_text("from muniment.c import other\n")
    (folder / "c.py").write_text("import json\nfrom muniment.a import call\n")
    (folder / "d.py").write_text("from muniment.a import call\n")
    graph = graph_of(modules(tmp_path))

    (found,) = circles(graph)
    text = drawn(graph, found)

    assert found == {"muniment.a", "muniment.b", "muniment.c"}
    assert f"muniment.a:{len(late.splitlines())} imports muniment.b" in text
    assert "muniment.c:2 imports muniment.a" in text
