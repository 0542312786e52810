"""Claims and specs: frozen, compared by content, and refused when they bound nothing."""

from __future__ import annotations

import math

import pytest

from muniment_plugins.harness import Claim, HarnessRefused, Spec


def test_a_spec_is_frozen_to_the_ground() -> None:
    """Neither a spec's own lists nor those it was made from change it afterwards."""
    imports = ["math"]
    spec = Spec(allowed_imports=imports, resources={"time_s": 5})
    imports.append("os")
    assert list(spec.allowed_imports) == ["math"]
    with pytest.raises(TypeError, match="does not support item assignment"):
        spec.resources["time_s"] = 600  # type: ignore[index]


def test_equal_content_is_equal_and_hashes_alike() -> None:
    """Two specs and two claims with the same content are one key of a dict."""
    assert {Spec(["math"]), Spec(("math",))} == {Spec(["math"])}
    assert len({Claim("a", "b", {"x": [1]}), Claim("a", "b", {"x": [1]})}) == 1
    assert Spec(["math"]) != Spec(["json"])


def test_open_resources_have_their_defaults() -> None:
    """A resource that is not named has the documented bound, and is never unbounded."""
    bounds = Spec(resources={"time_s": 5}).bounds
    assert bounds["resources"] == {"time_s": 5, "mem_mb": 1024}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"allowed_imports": "math"}, "'math' is not a list"),
        ({"allowed_import": ["math"]}, "allowed_import means nothing here"),
        ({"resources": {"time": 5}}, "time means nothing here"),
        ({"resources": {"time_s": 0}}, "0 bounds nothing"),
        ({"resources": {"mem_mb": "256"}}, "'256' bounds nothing"),
        ({"allow_non_finite": "no"}, "neither True nor False"),
        ({"properties": [{"name": "p"}]}, r"None is not text"),
        ({"properties": [{"name": "p", "transform": "t", "x": 1}]}, "x means nothing"),
        ({"properties": ["p"]}, "'p' is not a mapping"),
        (
            {"properties": [{"name": "p", "transform": "t", "tolerance": -1}]},
            "-1 is not a tolerance",
        ),
        (
            {"properties": [{"name": "p", "transform": "t", "rtol": math.nan}]},
            "nan is not a tolerance",
        ),
        (
            {"properties": [{"name": "p", "transform": "t", "relation": "equal"}]},
            "'equal' means nothing here",
        ),
        (
            {"properties": [{"name": "p", "transform": "t", "direction": "up"}]},
            "'up' means nothing here",
        ),
        (
            {
                "properties": [
                    {
                        "name": "p",
                        "transform": "t",
                        "relation": "invariant",
                        "direction": "increasing",
                    }
                ]
            },
            "only what is monotone has one",
        ),
        (
            {"properties": [{"name": "p", "transform": "t", "equal_nan": 1}]},
            "neither True nor False",
        ),
        (
            {"properties": [{"name": "p", "transform": "t", "arguments": [1]}]},
            r"\(1,\) is not a mapping",
        ),
        (
            {"properties": [{"name": "p", "transform": t} for t in ("a", "b")]},
            "a name stands twice",
        ),
    ],
)
def test_a_spec_that_bounds_nothing_is_refused(
    members: dict[str, object], message: str
) -> None:
    """What nobody would read, and what would let anything pass, is refused by name."""
    with pytest.raises(HarnessRefused, match=message):
        Spec.of(members)


def test_a_claim_says_something() -> None:
    """A claim without a text, or with members that mean nothing, is refused."""
    with pytest.raises(HarnessRefused, match="'' is not text"):
        Claim("c", "")
    with pytest.raises(HarnessRefused, match="accepts means nothing here"):
        Claim.of({"id": "c", "text": "t", "accepts": {}})
    with pytest.raises(HarnessRefused, match="missing 1 required"):
        Claim.of({"id": "c"})
