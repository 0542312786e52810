"""Runs first in every Python that a recorded program starts (see `site`).

Rules:

- It restores the program's import path, runs the program's own ``sitecustomize``, and
  costs next to nothing: the code that records is loaded with the library that it records.
- Pythons of any version read this file, down to 2.7: no annotations here. Those from
  `_OLDEST` on read what it loads.
- If recording does not work, the program runs as it would without it. It never said
  that it is recorded, so the recorder names it.
"""
# pyright: reportTypeCommentUsage=false

import os
import sys

_OLDEST = (3, 9)
"""The first version that is recorded."""


def _load(name, path):
    # type: (str, str) -> object
    """Return the module of the file *path*; cheaper than `importlib.util`."""
    from importlib.machinery import SourceFileLoader  # noqa: PLC0415 - see above

    module = type(sys)(name)
    module.__file__ = path
    SourceFileLoader(name, path).exec_module(module)
    sys.modules[name] = module
    return module


def _own():
    # type: () -> None
    """Run the program's own ``sitecustomize``."""
    try:
        from importlib.machinery import PathFinder  # noqa: PLC0415 - see above
    except ImportError:  # Python 2
        return
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = type(sys)("sitecustomize")
    module.__spec__, module.__file__ = spec, spec.origin
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _begin(here, address):
    # type: (str, str) -> None
    """Record this process from here on, if it can be."""
    if sys.version_info < _OLDEST:
        return
    try:
        path = os.path.join(os.path.dirname(here), "inside", "hooks.py")  # noqa: PTH118, PTH120 - cheaper
        hooks = _load("_muniment_hooks", path)
        hooks.begin(address, bool(os.environ.get("MUNIMENT_OFFLINE")))  # type: ignore[attr-defined]  # loaded by path
    except Exception:  # noqa: BLE001 - whatever it lacks, nobody records it then
        return


_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - cheaper
sys.path[:] = [one for one in sys.path if os.path.abspath(one) != _HERE]  # noqa: PTH100
if os.environ.get("MUNIMENT_RECORDER"):
    _begin(_HERE, os.environ["MUNIMENT_RECORDER"])
_own()
