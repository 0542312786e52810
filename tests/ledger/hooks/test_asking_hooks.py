"""What a program asks of the plugins through its lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.errors import CannotTellError
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run


class Capsule:
    """A plugin that echoes the code it is asked to run, and the lane's scope."""

    @staticmethod
    @hookimpl
    def execute_code(run: Run, request: dict[str, object]) -> object:
        """Answer with what was asked."""
        return {"ran": request["code"], "in": run.scope_path}


class Silent:
    """A plugin that knows the hook and has nothing to say."""

    @staticmethod
    @hookimpl(tryfirst=True)
    def execute_code() -> None:
        """Answer nothing."""


def test_the_first_answer_counts_and_hears_the_lane(tmp_path: Path) -> None:
    """A lane hands itself to the hook, and a plugin that says None is passed over."""
    plugins = Plugins((), {"capsule": Capsule, "silent": Silent})
    with (
        Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger,
        ledger.run("asking") as run,
        run.scope("map/3") as lane,
    ):
        answer = lane.hook("execute_code", request={"code": "1 + 1"})
    assert answer == {"ran": "1 + 1", "in": "map/3"}


def test_nobody_answers(tmp_path: Path) -> None:
    """A hook that no active plugin answers is an error that names the hook."""
    plugins = Plugins((), {"silent": Silent})
    with (
        Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger,
        ledger.run("asking") as run,
        pytest.raises(CannotTellError, match="no active plugin answers execute_code"),
    ):
        run.hook("execute_code", request={})
