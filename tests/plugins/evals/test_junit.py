"""JUnit XML that parsers of others read, whatever a suite and its runs say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_plugins.evals import junit_xml


def case(verdict: str, severity: str = "blocking", **more: Any) -> dict[str, Any]:
    """Return the result of a case."""
    row = {"case": "c", "run_id": "01M8", "verdict": verdict, "severity": severity}
    return {**row, "failures": ["it is not"], "undecided": [], **more}


def result(*cases: dict[str, Any], suite: str = "letters") -> dict[str, Any]:
    """Return the result of a suite."""
    return {"suite": suite, "digest": "sha256:0", "verdict": "x", "cases": [*cases]}


def test_what_becomes_what() -> None:
    """Failed is a failure, cannot tell an error, a warning is skipped, and none passes."""
    jenkins = pytest.importorskip("junitparser")
    text = junit_xml(
        result(
            case("passed", failures=[]),
            case("failed"),
            case("cannot_tell"),
            case("failed", "warning"),
            case("failed", against=True),
        )
    )
    xml = jenkins.JUnitXml.fromstring(text.encode())
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (4, 1, 1, 1)
    (suite,) = xml
    kinds = [type(one.result[0]).__name__ if one.result else None for one in suite]
    assert kinds == [None, "Failure", "Error", "Skipped"]


@settings(max_examples=60)
@given(name=st.text(st.characters()), said=st.text(st.characters()))
def test_any_text_is_xml(name: str, said: str) -> None:
    """Controls, quotes and halves of characters make no document that cannot be read."""
    text = junit_xml(result(case("failed", case=name, failures=[said]), suite=name))
    root = ET.fromstring(text.encode())  # noqa: S314 - our own
    assert root.tag == "testsuites"
    (found,) = root.iter("testcase")
    assert found.find("failure") is not None
    assert root.get("tests") == "1"


@pytest.mark.parametrize("verdict", ["passed", "failed"])
def test_a_run_that_nobody_signed_is_marked(verdict: str) -> None:
    """Whether or not it passed, and only it."""
    said = result(case(verdict, unsigned=True), case("passed"))
    root = ET.fromstring(junit_xml({**said, "verdict": verdict}).encode())  # noqa: S314 - our own
    first, second = root.iter("testcase")
    (mark,) = first.iter("property")
    assert (mark.get("name"), mark.get("value")) == ("unsigned", "true")
    assert not [*second.iter("property")]
