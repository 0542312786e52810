"""What the capsule says of code that it is asked to read only."""

from __future__ import annotations

import pytest

from muniment.errors import UsageError
from muniment_plugins.capsule import check_code


def test_reading_accepts_what_a_run_would_run() -> None:
    """Code within its bounds is accepted, and nothing of it is run."""
    code = "def fit_and_eval(data):\n    raise ValueError('ran')\n"
    assert check_code({"code": code}) == {"accepted": True}


def test_reading_names_rule_and_line() -> None:
    """Code out of its bounds is refused with the error that a run would say."""
    code = "import math\nimport os\ndef go(data): return {}"
    answer = check_code({"code": code, "allowed_imports": ["math"], "entrypoint": "go"})
    error = answer["error"]
    assert isinstance(error, dict)
    assert not answer["accepted"]
    assert error["message"] == "Import not allowed: os"
    assert (error["rule"], error["line"]) == ("capsule/import", 2)


def test_reading_refuses_a_misspelt_bound() -> None:
    """A bound that the capsule does not know is refused, not passed over."""
    with pytest.raises(UsageError, match="allowed_import means nothing"):
        check_code({"code": "", "allowed_import": ["math"]})


def test_reading_refuses_a_floor_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who names a floor is told of one in the environment that is none."""
    request = {"code": "def fit_and_eval(data): return {}", "require": "none"}
    assert check_code(request) == {"accepted": True}
    monkeypatch.setenv("MUNIMENT_REQUIRE", "os-stronk")
    with pytest.raises(UsageError, match="not an isolation level"):
        check_code(request)
