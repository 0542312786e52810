"""A capsule that allows what ordinary programs import."""

from __future__ import annotations

import pytest

from muniment_plugins.capsule import Capsule, Policy

ORDINARY = (
    *("abc", "bisect", "collections", "copy", "dataclasses", "datetime", "decimal"),
    *("enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numpy"),
    *("operator", "random", "re", "statistics", "string", "textwrap", "time", "typing"),
)


@pytest.fixture(scope="session")
def capsule() -> Capsule:
    """Return a capsule for ordinary programs."""
    return Capsule(Policy(allowed_imports=ORDINARY, time_s=5, mem_mb=256))
