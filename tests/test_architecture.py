"""The rules that the whole tree keeps, read from the tree itself."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

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
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

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


@pytest.mark.parametrize("file", [*SOURCES, *TESTS], ids=ids([*SOURCES, *TESTS]))
def test_file_length(file: Path) -> None:
    """No file is longer than 400 lines: a longer one is two ideas."""
    assert len((ROOT / file).read_text().splitlines()) <= MAX_FILE


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


def test_front_door_refuses() -> None:
    """A name that the package lacks is an AttributeError, as anywhere."""
    with pytest.raises(AttributeError, match="'muniment' has no attribute 'nothing'"):
        getattr(muniment, "nothing")  # noqa: B009 - a type checker would object


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import muniment", ["sqlmodel", "sqlalchemy", "pydantic", "cryptography"]),
        ("from muniment import verify", ["sqlmodel", "sqlalchemy", "pluggy"]),
        ("import muniment.verifier", ["pydantic", "muniment.store", "subprocess"]),
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
    """The verifier's contract covers all its parts, and forbids all the rest."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    contract = next(one for one in contracts if "shares no code" in one["name"])
    modules = {file.stem for file in (ROOT / PACKAGES[0]).glob("*.py")} - {"__init__"}
    own = {"verifier"}
    formats = {
        "bulk",
        "canonical",
        "checkpoint",
        "errors",
        "folder",
        "formats",
        "heads",
        "homes",
        "keyentries",
        "keyring",
        "keys",
        "layout",
        "locations",
        "merkle",
        "note",
        "seen",
        "signing",
        "sqlite_file",
        "trust",
        "trustfiles",
    }

    assert contract["source_modules"] == ["muniment.verifier", "muniment.verifying"]
    forbidden = {
        name.removeprefix("muniment.")
        for name in contract["forbidden_modules"]
        if name.startswith("muniment.")
    }
    assert forbidden == modules - own - formats


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
