"""The rules that the whole tree keeps, read from the tree itself."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

import muniment

ROOT = Path(__file__).parents[1]
PACKAGES = ("ledger/muniment", "plugins/muniment_plugins", "cli/muniment_cli")
SOURCES = sorted(
    file.relative_to(ROOT) for top in PACKAGES for file in (ROOT / top).rglob("*.py")
)
DATA = ROOT / "tests" / "capsule" / "attacks"  # programs that are tried, not kept well
TESTS = sorted(
    file.relative_to(ROOT)
    for file in (ROOT / "tests").rglob("*.py")
    if DATA not in file.parents
)
TOOLS = sorted(file.relative_to(ROOT) for file in (ROOT / "tools").glob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

OURS = [*SOURCES, *TESTS, *TOOLS]

MAX_FILE = 400
MAX_FUNCTION = 50

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of *file*."""
    return ast.parse((ROOT / file).read_text())


def ids(files: list[Path]) -> list[str]:
    """Return what pytest calls *files*."""
    return [str(file) for file in files]


def assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """Return what a module assigns to *name*, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name
            for target in node.targets
        ):
            return node.value
    return None


def public(tree: ast.Module) -> set[str]:
    """Return the public functions and classes that a module defines."""
    return {
        node.name
        for node in tree.body
        if isinstance(node, Definition) and not node.name.startswith("_")
    }


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_module_docstring(file: Path) -> None:
    """Every module says in its first sentence what it is."""
    docstring = ast.get_docstring(tree_of(file))

    assert docstring, f"{file} has no docstring"
    assert docstring.split("\n\n")[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_all(file: Path) -> None:
    """Every module with public names lists them, sorted, and each of them exists."""
    tree = tree_of(file)
    listed = assigned(tree, "__all__")
    if listed is None:
        assert not public(tree), f"{file} has public names and no __all__"
        return
    names = ast.literal_eval(listed)

    assert names == _sorted(names)
    parts = file.with_suffix("").parts[1:]
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    assert [name for name in names if not hasattr(module, name)] == []


def _sorted(names: list[str]) -> list[str]:
    """Return *names* as ruff sorts them: constants, classes, functions."""

    def key(name: str) -> tuple[int, str]:
        constant = name.isupper() and len(name) > 1
        return (0 if constant else 1 if name[:1].isupper() else 2, name)

    return sorted(names, key=key)


@pytest.mark.parametrize("file", OURS, ids=ids(OURS))
def test_file_length(file: Path) -> None:
    """No file is longer than 400 lines: a longer one is two ideas."""
    assert len((ROOT / file).read_text().splitlines()) <= MAX_FILE


def test_rooms() -> None:
    """No folder holds more than fifteen modules: more are rooms that were not named.

    Programs that a capsule is given are data, in folders by kind.
    """
    given = Path("tests", "capsule")
    tests = [file for file in TESTS if given not in file.parents[1:]]
    rooms = [file for file in [*SOURCES, *tests] if file.stem != "__init__"]
    folders = Counter(file.parent for file in rooms)

    assert {str(one): count for one, count in folders.items() if count > 15} == {}


def test_class_names() -> None:
    """No two public classes share a name: one word has one meaning."""
    named = Counter(
        node.name
        for file in SOURCES
        for node in tree_of(file).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    shared = {name for name, count in named.items() if count > 1}

    assert shared == set()


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_function_length(file: Path) -> None:
    """No function is longer than 50 lines, its docstring not counted."""
    long = {
        f"{function.name} ({length})"
        for function in functions(tree_of(file))
        if (length := _length(function)) > MAX_FUNCTION
    }

    assert long == set()


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body
    first = body[1] if ast.get_docstring(function) and len(body) > 1 else body[0]
    head = body[0].lineno - function.lineno
    return head + (function.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("file", TESTS, ids=ids(TESTS))
def test_promises(file: Path) -> None:
    """Every test states what it promises."""
    silent = [
        function.name
        for function in functions(tree_of(file))
        if function.name.startswith("test_") and not ast.get_docstring(function)
    ]

    assert silent == []


def test_box() -> None:
    """The plugins in the box are exactly those that the project registers."""
    folder = ROOT / "plugins" / "muniment_plugins"
    box = {
        entry.name if entry.is_dir() else entry.stem
        for entry in folder.iterdir()
        if (entry / "__init__.py").exists()
        or (entry.suffix == ".py" and entry.stem != "__init__")
    }

    registered: dict[str, str] = PROJECT["project"]["entry-points"]["muniment"]
    assert registered == {name: f"muniment_plugins.{name}" for name in box}


def test_box_is_installed() -> None:
    """What is installed is what the project file says."""
    declared: dict[str, dict[str, str]] = PROJECT["project"]["entry-points"]
    for group, entries in declared.items():
        installed = {
            point.name: point.value
            for point in importlib.metadata.entry_points(group=group)
            if point.dist is not None and point.dist.name == "muniment"
        }

        assert installed == entries


def test_front_door() -> None:
    """Each name of the package has a home, and no name is also a module's."""
    homes = assigned(tree_of(Path(PACKAGES[0], "__init__.py")), "_HOMES")
    assert homes is not None
    table: dict[str, str] = ast.literal_eval(homes)

    assert list(table) == sorted(muniment.__all__) == dir(muniment)
    for name in muniment.__all__:
        assert getattr(muniment, name) is not None
        assert not (ROOT / PACKAGES[0] / f"{name}.py").exists()
        assert not (ROOT / PACKAGES[0] / name).exists()


def test_front_door_refuses() -> None:
    """A name that the package lacks is an AttributeError, as anywhere."""
    with pytest.raises(AttributeError, match="'muniment' has no attribute 'nothing'"):
        getattr(muniment, "nothing")  # noqa: B009 - a type checker would object


def test_what_a_plugin_imports_is_light() -> None:
    """The marks of hooks and fields load a few modules of ours, and no store."""
    code = "from muniment import VOLATILE, hookimpl\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {name for name in done.stdout.split() if name.startswith("muniment.")}

    assert loaded == {
        "muniment.lazy",
        "muniment.errors",
        "muniment.events",
        "muniment.events.fields",
        "muniment.hookspecs",
        "muniment.queries",
        "muniment.queries.readable",
    }


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import muniment", ["sqlmodel", "sqlalchemy", "pydantic", "cryptography"]),
        ("from muniment import verify", ["sqlmodel", "sqlalchemy", "pluggy"]),
        (
            "import muniment.verification.verify",
            ["pydantic", "muniment.storage.append", "subprocess"],
        ),
    ],
)
def test_imports_are_light(statement: str, forbidden: list[str]) -> None:
    """Importing the package or the verifier loads nothing of the writer."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert set(forbidden) & set(done.stdout.split()) == set()


def test_contracts() -> None:
    """The layers of the architecture hold."""
    script = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


def test_contract_of_the_verifier() -> None:
    """The verifier can import the formats and what they stand on, and nothing else."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    whole = next(one for one in contracts if one.get("containers") == ["muniment"])
    layers: list[set[str]] = [set(line.split(" | ")) for line in whole["layers"]]
    own = next(n for n, line in enumerate(layers) if "verification" in line)
    below = set().union(*layers[own + 1 :])

    assert whole["exhaustive"]
    assert below == {
        "lazy",
        "encoding",
        "errors",
        "files",
        "format_versions",
        "formats",
        "json_values",
        "keys",
        "trust",
    }


def test_dependencies() -> None:
    """The core stands on eight packages, none of them heavy."""
    names = {line.partition(">")[0] for line in PROJECT["project"]["dependencies"]}

    assert names == {
        "click",
        "cryptography",
        "orjson",
        "platformdirs",
        "pluggy",
        "rfc8785",
        "rich",
        "sqlmodel",
    }


MODES = {"dry", "fork", "live", "replay", "resume"}
ENDS = {
    *("run.canceled", "run.completed", "run.failed", "run.interrupted"),
    *("run.paused", "run.resumed"),
}
DECLARED = {
    "ledger/muniment/events/kernel_types.py",
    "ledger/muniment/formats/lifecycle.py",
    "ledger/muniment/verification/page/run_view.py",
    "ledger/muniment/verification/statements/kernel_data.py",
}
"""Where the types of a run's own events may be spelled: their data, and what they mean.

The view of a run is derived by a program that imports nothing of muniment, too."""


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_nobody_compares_modes(file: Path) -> None:
    """A run asks its mode what to do, and nobody asks for the name of a mode.

    The shell alone does, of what its options said.
    """
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Compare) and file.parts[0] != "cli":
            sides = [node.left, *node.comparators]
            names = {n.value for s in sides for n in ast.walk(s) if _is_text(n)}
            asked = any(re.search(r"\bmode\b", ast.unparse(side)) for side in sides)
            assert not (asked and names & MODES), f"{file}:{node.lineno}"


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_runs_are_asked_for(file: Path) -> None:
    """Who wants runs asks for runs (ADR 58), not for the events that start them."""
    for node in ast.walk(tree_of(file)):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith(
            ".events"
        ):
            continue
        asked = {one.arg: ast.unparse(one.value) for one in node.keywords}
        starts = asked.get("type") in {"'run.started'", "STARTED"}
        assert not starts or asked.keys() & {"run", "series"}, (file, node.lineno)


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_ends_are_told_once(file: Path) -> None:
    """How a run ends stands in one module of the kernel; others take it from there."""
    if file.parts[0] == "ledger" and str(file) not in DECLARED:
        for node in ast.walk(tree_of(file)):
            if _is_text(node):
                assert node.value not in ENDS, f"{file}:{node.lineno}"


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


NEW_FILES = {
    Path("ledger/muniment/files/folder.py"),
    Path("plugins/muniment_plugins/capsule/isolation/namespaces.py"),
}
"""Where new files are made; the second does it below a root of its own, in a child."""


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_new_files_are_written_once(file: Path) -> None:
    """One function writes a new file, never over one, and leaves no half of it."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Attribute) and node.attr == "O_EXCL":
            assert file in NEW_FILES, f"{file}:{node.lineno}"
        if isinstance(node, ast.Call) and "open" in ast.unparse(node.func):
            modes = {one.value for one in node.args if _is_text(one)}
            assert not {"x", "xb", "xt"} & modes, f"{file}:{node.lineno}"


@pytest.mark.parametrize("file", SOURCES, ids=ids(SOURCES))
def test_texts_name_their_encoding(file: Path) -> None:
    """What a file holds is the same in every locale: whoever reads or writes text says how."""
    for node in ast.walk(tree_of(file)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        texts = {"read_text": 0, "write_text": 1}
        if node.func.attr in texts and len(node.args) <= texts[node.func.attr]:
            said = {one.arg for one in node.keywords}
            assert said & {"encoding", None}, f"{file}:{node.lineno}"
