"""An environment of its own, with the package as `pip install muniment` brings it.

Rules: what is installed is what the metadata of the distributions ask for, taken from
the environment that the tests run in: no network is asked. Any user may run it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import muniment
import muniment_cli
import muniment_plugins
from machines import reachable_python

__all__ = ["Site"]

START = "import sys\nfrom muniment_cli import main\nsys.exit(main())\n"


class Site:
    """A virtual environment; a context that removes it."""

    def __init__(self) -> None:
        python = Path(sys.executable if os.geteuid() else reachable_python()).resolve()
        self._kept = tempfile.TemporaryDirectory()
        self.root = Path(self._kept.name)
        self.root.chmod(0o755)
        self.bin, self.packages = self.root / "bin", self.root / "packages"
        self._there: set[str] = set()
        try:
            self._make(python)
            self.install("muniment")
        except BaseException:  # a package is not here: the test is not tried
            self.close()
            raise

    def _make(self, python: Path) -> None:
        version = f"python3.{sys.version_info.minor}"
        self.packages = self.root / "lib" / version / "site-packages"
        self.packages.mkdir(parents=True)
        self.bin.mkdir()
        (self.root / "pyvenv.cfg").write_text(
            f"home = {python.parent}\ninclude-system-site-packages = false\n"
        )
        for name in ("python", "python3"):
            (self.bin / name).symlink_to(python)
        script = self.bin / "muniment"
        script.write_text(f"#!{self.bin / 'python'}\n{START}")
        script.chmod(0o755)

    def close(self) -> None:
        """Remove it."""
        self._kept.cleanup()

    def install(self, *requirements: str) -> None:
        """Bring distributions, with what they need; skips where one is not here."""
        waiting = [Requirement(one) for one in requirements if one != "."]
        while waiting:
            asked = waiting.pop()
            waiting += self._bring(asked)

    def _bring(self, asked: Requirement) -> list[Requirement]:
        key = f"{asked.name.lower()}[{','.join(sorted(asked.extras))}]"
        if key in self._there:
            return []
        self._there.add(key)
        try:
            found = metadata.distribution(asked.name)
        except metadata.PackageNotFoundError:
            pytest.skip(f"needs the package {asked.name}")
        self._copy(asked.name, found)
        needs = [Requirement(one) for one in found.requires or ()]
        return [one for one in needs if _wanted(one, asked.extras)]

    def _copy(self, name: str, found: metadata.Distribution) -> None:
        if name == "muniment":
            for package in (muniment, muniment_plugins, muniment_cli):
                self._tree(Path(package.__path__[0]))
        tops = {file.parts[0] for file in found.files or () if file.parts}
        for top in sorted(tops - {"..", "__pycache__"}):
            source = Path(str(found.locate_file(top)))
            if source.suffix != ".pth" and source.exists():
                self._tree(source)

    def _tree(self, source: Path) -> None:
        target = self.packages / source.name
        if source.is_dir():
            shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)
        elif not target.exists():
            _link(str(source), str(target))


def _wanted(need: Requirement, extras: set[str]) -> bool:
    marker = need.marker
    return marker is None or any(
        marker.evaluate({"extra": one}) for one in ("", *extras)
    )


def _link(source: str, target: str) -> str:
    if not Path(target).exists():
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)
    return target
