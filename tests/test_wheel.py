"""The wheel that the tree gives is whole: it installs, and the tour passes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KEPT = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")

pytestmark = pytest.mark.slow


def run(
    command: Sequence[str | Path], cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run *command* in *cwd* without what points to another Python."""
    inherited = {name: text for name, text in os.environ.items() if name not in KEPT}
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, **environment},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the tree's files, without what was built in it."""
    target = tmp_path_factory.mktemp("tree") / "muniment"
    shutil.copytree(
        ROOT,
        target,
        ignore=shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "tests"),
    )
    return target


@pytest.fixture(scope="module")
def wheel(tree: Path) -> Path:
    """Give a wheel of the tree."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "wheel", "--quiet", "--no-deps", "-w", "dist", "."], tree)
    return next((tree / "dist").glob("*.whl"))


def test_contents(wheel: Path) -> None:
    """The wheel has every module of the three packages, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {
        str(file.relative_to(ROOT / top))
        for top in ("ledger", "plugins", "cli")
        for file in (ROOT / top).rglob("*")
        if file.is_file() and file.suffix != ".pyc"  # Python 2 has them beside modules
    }

    assert names == expected


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment; give the folder of its commands."""
    place = tmp_path_factory.mktemp("env")
    venv.create(place, with_pip=True)
    found = place / ("Scripts" if os.name == "nt" else "bin")
    pip: list[str | Path] = [found / "python", "-m", "pip"]
    run([*pip, "install", "--quiet", "--disable-pip-version-check", wheel], place)
    run([*pip, "check"], place)
    return found


def test_demo_from_nothing(scripts: Path, tmp_path: Path) -> None:
    """In an empty environment and an empty directory, the tour passes, twice."""
    for number in (1, 2):
        empty = tmp_path / f"empty-{number}"
        empty.mkdir()
        home = str(tmp_path / "home")
        done = run([scripts / "muniment", "demo"], empty, MUNIMENT_HOME=home)

        assert done.stdout


def test_example_from_nothing(scripts: Path, tmp_path: Path) -> None:
    """There, the example of a flow is written, and what is printed after it works."""
    home = str(tmp_path / "home")
    path = os.pathsep.join((str(scripts), os.environ["PATH"]))
    told = run(
        [scripts / "muniment", "init", "--example", "flow"],
        tmp_path,
        MUNIMENT_HOME=home,
    )
    lines = told.stdout.partition("Type next:")[2].split("\n  ")[1:]
    assert len(lines) == 3
    for line in lines:
        run(["/bin/sh", "-c", line], tmp_path, MUNIMENT_HOME=home, PATH=path)


def test_source_distribution(tree: Path) -> None:
    """The source distribution has what a build and its documentation need."""
    backend = "from hatchling.build import build_sdist; print(build_sdist('dist'))"
    name = run([sys.executable, "-c", backend], tree).stdout
    with tarfile.open(tree / "dist" / name.strip()) as archive:
        names = {one.partition("/")[2] for one in archive.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "docs/trust.md"} <= names
    assert "ledger/muniment/__init__.py" in names
    examples = "plugins/muniment_plugins/governance/examples"
    assert {
        f"{examples}/flow/incidents.jsonl",
        f"{examples}/model/stand_in.py",
    } <= names
