"""The page on events shows what the code writes, byte for byte."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from muniment.encoding.canonical import (
    JsonValue,
    canonical,
    parse_canonical,
    sha256_tag,
)
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import BLOB, LARGE, VOLATILE
from muniment.formats.decisions import ANSWER_TYPE, SignedAnswer
from muniment.formats.dsse import Envelope, entry_hash, sign_payload, spki_base64
from muniment.formats.series import SeriesLink, series_digest, series_json
from muniment.formats.statement import (
    BlobRef,
    Place,
    Position,
    Subject,
    read_event,
    statement,
    subjects_json,
)
from muniment.formats.tables import LAYOUT_VERSION, SCHEMA
from muniment.keys.ed25519 import PrivateKey
from muniment.keys.enrolment import enrolment, genesis_context, next_root_commitment
from muniment.keys.keyring import Keyring
from muniment.programs.functions import describe

PAGE = Path(__file__).parents[3] / "docs" / "spec" / "event.md"
WRITER = PrivateKey.from_seed(bytes(range(32)))
LOG = PrivateKey.from_seed(bytes(range(32, 64)))
ROOT = PrivateKey.from_seed(bytes(range(64, 96)))
NEXT_ROOT = PrivateKey.from_seed(bytes(range(96, 128)))
NONCE = "00112233445566778899aabbccddeeff" * 2
SALT = bytes(range(128, 160))
CONTENT = b'{"name":"search","query":"T-7"}'
RUN = "01JD3Z8M6Q4W0V9K2T7N5RYXCB"


def genesis() -> bytes:
    """Return the payload of event 0."""
    context = genesis_context(NONCE)
    data = canonical(
        {
            "formats": {"checkpoint": 1, "event": 1, "layout": 1},
            "keys": [
                enrolment(ROOT, ["root"], context, "root"),
                enrolment(WRITER, ["writer"], context, "writer"),
                enrolment(LOG, ["checkpoint"], context, "checkpoint"),
            ],
            "next_root": next_root_commitment(NEXT_ROOT.public),
            "nonce": NONCE,
        }
    )
    position = Position(0, None, None, "2026-11-20T07:23:40.000000Z")
    return statement("ledger.opened", 1, data, position)


def leaf(payload: bytes, key: PrivateKey) -> bytes:
    """Return the leaf hash of *payload*, signed with *key*."""
    signed = sign_payload(payload, key)
    return entry_hash(payload, signed.signature, spki_base64(key.public))


def request() -> bytes:
    """Return the payload of event 1."""
    commitment = "sha256:" + hashlib.sha256(SALT + CONTENT).hexdigest()
    data = canonical(
        {
            "about": {"name": "search"},
            "attempt": 1,
            "request": BlobRef(commitment, len(CONTENT)).to_json(),
        }
    )
    position = Position(
        1,
        leaf(genesis(), ROOT).hex(),
        sha256_tag(genesis()),
        "2026-11-20T07:23:41.096123Z",
    )
    subject = subjects_json((Subject("request", commitment),))
    return statement(
        "tool.requested", 1, data, position, Place(RUN, "map/3", 0), subject
    )


SERIES = (
    SeriesLink("claim/c1", 2, leaf(genesis(), ROOT).hex()),
    SeriesLink("night-shift"),
)


def answered() -> SignedAnswer:
    """Return the answer of the example, as it is read; its signature is not there."""
    told: dict[str, JsonValue] = {
        "ask": leaf(request(), WRITER).hex(),
        "ledger": sha256_tag(genesis()),
        "meaning": "I have read the report",
        "nonce": "00112233445566778899aabbccddeeff",
        "outcome": "approved",
        "reason": "the numbers are right",
        "subject": "sha256:" + hashlib.sha256(SALT + CONTENT).hexdigest(),
    }
    return SignedAnswer.read(sign_payload(canonical(told), WRITER, ANSWER_TYPE))


def blocks() -> dict[str, str]:
    """Return the fenced blocks of the page by their label."""
    text = PAGE.read_text(encoding="utf-8")
    return dict(
        re.findall(r"^```([a-z-]+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    )


def expected() -> dict[str, str]:
    """Return what the code writes for each block."""
    first, second = genesis(), request()
    signed = [sign_payload(first, ROOT), sign_payload(second, WRITER)]
    leaves = [leaf(first, ROOT), leaf(second, WRITER)]
    return {
        "genesis": first.decode() + "\n",
        "payload": second.decode() + "\n",
        "signatures": "".join(
            base64.b64encode(one.signature).decode() + "\n" for one in signed
        ),
        "leaves": "".join(one.hex() + "\n" for one in leaves),
        "ledger": sha256_tag(first) + "\n",
        "blob": (SALT + CONTENT).hex() + "\n",
        "tables": "".join(f"{sql}\n" for sql in SCHEMA.values()),
        "series": '"series":' + series_json(SERIES).decode() + "\n",
        "series-digest": series_digest("claim/c1").hex() + "\n",
        "decision": answered().envelope.payload.decode() + "\n",
    }


@pytest.mark.parametrize("label", sorted(expected()))
def test_blocks(label: str) -> None:
    """Each block of the page is what the code writes."""
    assert blocks()[label] == expected()[label]


def test_no_block_is_unknown() -> None:
    """Every labelled block is compared; the first example repeats the payload."""
    assert blocks().keys() == expected().keys() | {"json"}
    assert json.loads(blocks()["json"]) == json.loads(blocks()["payload"])


def test_the_example_is_evidence() -> None:
    """What the page prints verifies: form, signatures, keys, chain, commitment."""
    shown = blocks()
    first, second = shown["genesis"].encode()[:-1], shown["payload"].encode()[:-1]
    signatures = [base64.b64decode(line) for line in shown["signatures"].split()]
    opening = read_event(first, signatures[0], ROOT.public.raw, b"")
    keyring = Keyring.genesis(opening.raw, ROOT.public, sha256_tag(first))

    for payload, signature, key in zip(
        (first, second), signatures, (ROOT, WRITER), strict=True
    ):
        assert canonical(parse_canonical(payload)) == payload
        assert Envelope(payload, key.public.keyid, signature).verify(key.public)
    event = read_event(second, signatures[1], WRITER.public.raw, b"")
    assert keyring.may_sign(event.key, event.type)
    assert event.ledger == sha256_tag(first)
    assert event.prev == shown["leaves"].split()[0]
    blob = bytes.fromhex(shown["blob"])
    reference = event.data["request"]
    assert isinstance(reference, BlobRef)
    assert reference.digest == sha256_tag(blob)
    assert reference.size == len(blob) - 32


def test_limits_and_versions() -> None:
    """The page names the layout's version, and no limit that the code lacks."""
    text = PAGE.read_text(encoding="utf-8")

    assert f"`user_version` is {LAYOUT_VERSION}" in text
    assert "65,536 bytes" in text


def test_texts_that_may_be_personal() -> None:
    """Whatever the kernel's types keep in free form can be erased, or is named here.

    The exceptions are words of whoever keeps the ledger: notes, claims, reasons.
    """
    inline = {
        f"{one.name}.{field}"
        for one in KERNEL_TYPES
        for field, marks in one.marks.items()
        if LARGE in marks and BLOB not in marks and VOLATILE not in marks
    }

    assert inline == {
        "blob.erased.reason",
        "claim.stated.acceptance",
        "claim.stated.text",
        "note.added.text",
        "pause.stated.reason",
        "run.canceled.reason",
        "run.marked.reason",
        "run.paused.reason",
        "spec.issued.contracts",
        "spec.issued.properties",
        "synthesis.attempted.code",
        "verdict.reached.inputs",
        "verdict.reached.result",
        "verdict.reached.settings",
    }


def test_what_ran_is_described_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The members of `program`, their paths and their digests are those of the page."""
    text = "def main(run):\n    return 1\n"
    jobs = tmp_path / "desk" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "__init__.py").write_text("")
    (jobs / "triage.py").write_text(f"import json\n\n\n{text}")
    monkeypatch.chdir(jobs.parent)
    monkeypatch.syspath_prepend(str(jobs.parent))
    described = describe(importlib.import_module("jobs.triage").main)

    assert described == {
        "file": "jobs/triage.py",
        "files": {
            "jobs/__init__.py": sha256_tag(b""),
            "jobs/triage.py": sha256_tag(f"import json\n\n\n{text}".encode()),
        },
        "import": "jobs.triage:main",
        "source": sha256_tag(text.encode()),
    }
    section = PAGE.read_text().partition("## Runs")[2].partition("\n## ")[0]
    assert {f"| `{name}` |" in section for name in described} == {True}
    monkeypatch.chdir(tmp_path.parent)
    assert describe(json.dumps).keys() == {"file", "import", "source"}
    monkeypatch.chdir(jobs)
    outside = describe(importlib.import_module("jobs").triage.main)
    assert outside["file"] == "triage.py"
    monkeypatch.delitem(sys.modules, "jobs.triage")
    monkeypatch.delitem(sys.modules, "jobs")
