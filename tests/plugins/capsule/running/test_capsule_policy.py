"""Bounds that bound nothing are refused when they are stated."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from muniment.errors import RefusedError, UsageError
from muniment_plugins.capsule import Capsule, Policy


@pytest.mark.parametrize(
    ("bounds", "place"),
    [
        ({"time_s": 0}, "time_s"),
        ({"time_s": float("inf")}, "time_s"),
        ({"time_s": float("nan")}, "time_s"),
        ({"allow_non_finite": 1}, "allow_non_finite"),
        ({"time_s": True}, "time_s"),
        ({"mem_mb": 0}, "mem_mb"),
        ({"mem_mb": 1.5}, "mem_mb"),
        ({"seed": -1}, "seed"),
        ({"max_output": -1}, "max_output"),
        ({"require": "strong"}, "require"),
        ({"clock": "slow"}, "clock"),
        ({"env": {"A": "x\0y"}}, "env"),
        ({"env": {"A=B": "x"}}, "env"),
        ({"env": {"": "x"}}, "env"),
        ({"env": {"A": 3}}, "env"),
        ({"env": {"A": "\ud800"}}, "env"),
        ({"allowed_imports": ("a b",)}, "allowed_imports"),
        ({"allowed_imports": (".x",)}, "allowed_imports"),
        ({"allowed_imports": "math"}, "allowed_imports"),
        ({"allowed_imports": (1,)}, "allowed_imports"),
    ],
)
def test_bad_bounds_are_named(bounds: dict[str, Any], place: str) -> None:
    """The message points at the bound that is none."""
    with pytest.raises(UsageError, match=f"Policy.{place}"):
        Policy(**bounds)


@pytest.mark.parametrize(
    ("bounds", "remedy"),
    [
        ({"require": "strong"}, "one of none, process, engine, os-partial, os-strong"),
        ({"engine": "v8"}, "one of monty, python"),
        ({"clock": "slow"}, "one of frozen, real"),
        ({"time_s": 0}, "seconds above 0, at most 86400"),
        ({"allowed_imports": "math"}, "a list of names"),
    ],
)
def test_a_refusal_says_what_is_a_bound(bounds: dict[str, Any], remedy: str) -> None:
    """Whoever gave no bound is told what one is."""
    with pytest.raises(UsageError) as refused:
        Policy(**bounds)
    assert refused.value.remedy == f"give {remedy}"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "os",
            "os.path",
            "sys",
            "ctypes",
            "muniment.storage.append",
            "xml.etree.ElementTree",
        ),
        *("pipes", "posixpath", "genericpath", "ntpath", "telnetlib", "asyncore"),
        *("asynchat", "smtpd", "inspect", "tokenize", "pandas.core.frame"),
        *("sklearn.utils.parallel", "scipy.datasets", "numpy.lib.introspect"),
        *("_io", "numpy.f2py", "numpy.lib.npyio", "pandas.io.common", "scipy.io"),
    ],
)
def test_modules_that_open_the_capsule_need_a_word(name: str) -> None:
    """Dangerous imports are refused unless they are allowed as such."""
    with pytest.raises(RefusedError, match="would open the capsule"):
        Policy(allowed_imports=(name,))
    assert name in Policy(allowed_imports=(name,), allow_dangerous=True).modules


def test_the_environment_cannot_change_what_is_loaded() -> None:
    """Variables of the loader and of Python are refused."""
    for name in ("LD_PRELOAD", "PYTHONPATH", "DYLD_INSERT_LIBRARIES"):
        with pytest.raises(RefusedError, match=name):
            Policy(env={name: "x"})


def test_packages_bring_their_companions() -> None:
    """Submodules that ordinary programs reach by dot come with their package."""
    assert "numpy.linalg" in Policy(allowed_imports=("numpy",)).modules
    assert "numpy.f2py" not in Policy(allowed_imports=("numpy",)).modules


@pytest.mark.parametrize("code", [None, b"x = 1", 3])
def test_code_that_is_no_text_is_the_callers_error(code: Any) -> None:
    """What is not text is refused by name, not judged as a program."""
    for attempt in (Capsule().validate, partial(Capsule().run, data=1)):
        with pytest.raises(UsageError, match=f"code: it is {type(code).__name__}"):
            attempt(code)
