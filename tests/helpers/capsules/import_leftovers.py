"""What a program could find that another one's import left behind.

    seen("sklearn.impute")      the SHA-256 of what a program finds in that module

Rule: a program that looks asks for every name that the module has once all the companions
of its package are loaded, and for what kind of thing stands there, without a guard that would withhold any.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import sys

from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.language.companions import COMPANIONS

__all__ = ["PACKAGES", "modules", "names", "seen"]

PACKAGES = ("collections", "numpy", "pandas", "scipy", "sklearn")

LOOKS = """
import {root}
import {module} as module
def ask(place, name):
    try:
        return getattr(place, name, None)
    except ImportError:  # sklearn says so what another import would bring
        return ImportError
def fit_and_eval(data):
    found = {{name: ask(module, name) for name in data}}
    kinds = {{name: type(one).__name__ for name, one in found.items()}}
    shown = {{name: repr(found[name]) for name, kind in kinds.items()
             if kind in ("int", "float", "str", "bool", "tuple", "list")}}
    return {{"kinds": kinds, "shown": shown,
            "above": [type(ask({root}, name)).__name__ for name in data]}}
"""


def modules(package: str) -> list[str]:
    """Return *package* and what it brings."""
    return [package, *sorted(COMPANIONS[package])]


@functools.cache
def names(module: str) -> list[str]:
    """Return the names that *module* has when everything is loaded."""
    for package in PACKAGES:
        if module.partition(".")[0] == package:
            for name in modules(package):
                importlib.import_module(name)
    return sorted(n for n in dir(sys.modules[module]) if not n.startswith("_"))


def seen(module: str) -> str:
    """Return the digest of what a program that imports *module* finds there.

    Whoever asks has taken the guard away, once for all that are compared: by another
    worker file each would have workers of its own, where nobody leaves anything.
    """
    root = module.partition(".")[0]
    code = LOOKS.format(root=root, module=module)
    capsule = Capsule(Policy(allowed_imports=(root,), time_s=60))
    execution = capsule.run(code, names(module))
    if execution.metrics is None:
        raise AssertionError(f"{module}: {execution.error}")
    text = json.dumps(execution.metrics, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
