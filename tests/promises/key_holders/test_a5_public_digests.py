"""The plain digest of synthesised code is that of the code, wherever that lies."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import muniment
from attacking import check
from forge import Forge
from muniment.events.fields import PUBLIC
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import INLINE_LIMIT
from muniment.ledger import Ledger
from muniment.verification.public_digests import FIELDS
from muniment.verification.verify import verify

CODE = "def f(x):\n    return x\n"
STATED = {
    "its own": (hashlib.sha256(CODE.encode()).hexdigest(), "code", 2, False),
    "another's": ("ab" * 32, "code", 2, True),
    "under another name": (hashlib.sha256(CODE.encode()).hexdigest(), "x", 2, True),
    "none": ("", "", 2, True),
    "another's, in the first edition": ("ab" * 32, "code", 1, False),
}


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("where", ["inline", "row", "file", "earlier"])
def test_what_an_event_states_of_its_code(
    where: str, stated: str, tmp_path: Path
) -> None:
    """A digest that is not that of the code is found, and so is none."""
    digest, name, version, wrong = STATED[stated]
    forge = Forge("one").open(event=version)
    code: Any = CODE
    if where != "inline":
        code = forge.blob(CODE.encode(), file=where == "file")
    own = [] if where == "inline" else [subject("code", code["$blob"][7:])]
    if where == "earlier":
        forge.append("x.noted", {"text": code}, subject=own)
    about = [subject(name, digest)] if name else []
    if not about and where == "inline":
        about = [subject("mine", "cd" * 32)]
    data = {"code": code, "accepted": True}
    forge.append("synthesis.attempted", data, subject=about + own)
    report = check(forge, tmp_path / "l.db")
    assert {one.rule for one in report.findings} == (
        {"event/subject"} if wrong else set()
    )


def subject(name: str, digest: str) -> dict[str, Any]:
    """Return one subject."""
    return {"digest": {"sha256": digest}, "name": name}


@pytest.mark.parametrize("size", [20, 20_000, 1_500_000])
def test_what_a_writer_states_is_accepted(size: int, ledger: Ledger) -> None:
    """Code of any size and its plain digest verify, and after an erasure too."""

    def program(run: muniment.Run) -> None:
        run.record("synthesis.attempted", {"code": "é" * size, "accepted": True})

    done = ledger.execute(program)
    assert verify(ledger.path).exit_code == 0
    if size > INLINE_LIMIT:
        ledger.erase(done.run_id, reason="asked for")
        assert verify(ledger.path).exit_code == 0


def test_all_public_fields_are_known() -> None:
    """What the verifier compares is what the kernel's types declare as public."""
    declared = {
        one.name: tuple(n for n, marks in one.marks.items() if PUBLIC in marks)
        for one in KERNEL_TYPES
    }
    assert {name: fields for name, fields in declared.items() if fields} == FIELDS
