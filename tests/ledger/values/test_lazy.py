"""Names that are loaded when they are first asked for."""

from __future__ import annotations

import importlib
import sys

import pytest

from muniment.lazy import lazy

PACKAGES = [
    "muniment",
    *(f"muniment_plugins.{n}" for n in ("capsule", "executors", "harness")),
]


def test_homes() -> None:
    """A home is seen from the package, or named in full; a name may be another there."""
    find = lazy(
        "email",
        {
            "Charset": ".charset",
            "Header": "email.header",
            "Letter": ".message:Message",
            "join": "os.path",
        },
    )

    assert find("Charset") is importlib.import_module("email.charset").Charset
    assert find("Header") is importlib.import_module("email.header").Header
    assert find("Letter") is importlib.import_module("email.message").Message
    assert find("join") is importlib.import_module("os.path").join


def test_nothing_is_loaded_before() -> None:
    """Making the table loads none of its homes, nor does asking for another name."""
    sys.modules.pop("this", None)
    find = lazy("email", {"s": "this"})

    with pytest.raises(AttributeError):
        find("t")
    assert "this" not in sys.modules


@pytest.mark.parametrize("name", PACKAGES)
def test_other_names(name: str) -> None:
    """A name that a package lacks is an AttributeError, as anywhere."""
    package = importlib.import_module(name)

    assert not hasattr(package, "nothing")
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute"):
        package.__getattr__("nothing")
