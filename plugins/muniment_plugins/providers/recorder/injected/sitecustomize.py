"""Runs first in every Python that a recorded program starts (see `site`).

Rules: it leaves the program's import path as it would be without it, gives the program
its own ``sitecustomize``, and costs next to nothing: what records is loaded with the
library that it records.
"""

from __future__ import annotations

import os
import sys

__all__: list[str] = []


def _load(name: str, path: str) -> object:
    """Return the module of the file *path*; cheaper than `importlib.util`."""
    from importlib.machinery import SourceFileLoader  # noqa: PLC0415 - see above

    module = type(sys)(name)
    module.__file__ = path
    SourceFileLoader(name, path).exec_module(module)
    sys.modules[name] = module
    return module


def _own() -> None:
    """Run the ``sitecustomize`` that the program has without us."""
    from importlib.machinery import PathFinder  # noqa: PLC0415 - see above

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = type(sys)("sitecustomize")
    module.__spec__, module.__file__ = spec, spec.origin
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - cheaper
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != here]  # noqa: PTH100
    address = os.environ.get("MUNIMENT_RECORDER")
    if address:
        above = os.path.dirname(here)  # noqa: PTH120 - as above
        hooks = _load("_muniment_hooks", os.path.join(above, "hooks.py"))  # noqa: PTH118
        hooks.begin(address, bool(os.environ.get("MUNIMENT_OFFLINE")))  # type: ignore[attr-defined]  # loaded by path
    _own()


_begin()
