"""Where installed code is, which its version identifies."""

from __future__ import annotations

import site
import sysconfig
from functools import cache
from pathlib import Path

__all__ = ["is_installed"]


@cache
def _installed_in() -> tuple[Path, ...]:
    """Return the directories of the standard library and of installed packages.

    Directories that a ``.pth`` file names are among them, since editable installs use
    those.
    """
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = {sysconfig.get_path(one) for one in names}
    sites = {*site.getsitepackages(), site.getusersitepackages()}
    known = {Path(one) for one in paths | sites if one}
    named = (
        Path(line)
        for folder in map(Path, sites)
        for file in folder.glob("*.pth")
        for line in file.read_text("utf-8", "replace").splitlines()
    )
    known |= {one for one in named if one.is_absolute() and one.is_dir()}
    return tuple(one.resolve() for one in known)


def is_installed(file: Path) -> bool:
    """Tell whether *file* belongs to Python or to an installed package."""
    real = file.resolve()
    return any(real.is_relative_to(one) for one in _installed_in())
