"""A run with whatever an export has to find a place for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from bundled import evidence_plugins
from exported import Exported
from muniment import Run
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment_plugins.evidence import open_bundle, write_bundle

TEXTS = (
    "=1+1",
    "'quoted",
    "@sum",
    "+1",
    "-1",
    "\tx",
    'a "b", c\r\nd',
    "\x1b[31m",
    "",
    "é\u2028\U0001f512",
)


def ended(_: object) -> NoReturn:
    """Fail."""
    raise ZeroDivisionError("\x00 no")


def program(run: Run) -> str:
    """State texts that tables trip over, ask a model, fail with a tool, and in a lane."""
    for number, text in enumerate(TEXTS):
        run.record("claim.stated", {"id": f"c{number}", "text": text})
    asked = {"model": "gpt-x", "provider": "p", "messages": ["=2", 1.5, None]}
    told = {"model": "gpt-x-1", "finish_reason": "stop", "content": "ho"}
    usage = {"input_tokens": 3, "output_tokens": 5}
    run.effect("llm", asked, lambda _: {**told, "usage": usage})
    with suppress(EffectFailed):
        run.effect("tool", {"name": "t"}, ended)
    with run.scope("=lane/0") as lane:
        lane.effect("tool", {"name": "secret"}, lambda _: b"\x00\xff")
    return "done"


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """Give the ledger and a bundle of its run; one blob is erased."""
    base: Path = tmp_path_factory.mktemp("exported")
    with Ledger.create(
        base / "ledger.db", home=base / "home", plugins=evidence_plugins()
    ) as ledger:
        run = ledger.execute(program).run_id
        *_, last = ledger.events(run=run, type="tool.requested")
        blob = last.raw["request"]
        assert isinstance(blob, dict)
        ledger.erase(str(blob["$blob"]), reason="asked to")
        ledger.checkpoint()
        write_bundle(ledger, run, base / "bundle")
        with open_bundle(base / "bundle", evidence_plugins()) as bundle:
            yield Exported(ledger, run, bundle)
