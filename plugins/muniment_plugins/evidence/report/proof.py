"""What a report says of its own proof, and how to check it without its sender."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from muniment_plugins.evidence.javascript import program
from muniment_plugins.evidence.report.blocks import Block, Piece, Row, Section, at, head
from muniment_plugins.evidence.report.preview import BundlePreview
from muniment_plugins.evidence.standalone.one_file import one_file

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.record import RunReader

__all__ = ["proof"]


def proof(record: RunReader) -> Iterator[Section]:
    """Yield what was verified when this was written, and what a reader can verify."""
    genesis = record.event(0)
    keys = cast("list[JsonValue]", genesis.raw["keys"])
    roots: list[Piece] = [
        at(0, "keys", number, "keyid")
        for number, one in enumerate(keys)
        if isinstance(one, dict) and "root" in str(one.get("roles"))
    ]
    signers: dict[bytes, int] = {}
    for one in record.events(run=record.run):
        signers.setdefault(one.key, one.seq)
    is_inside = isinstance(record.ledger, BundlePreview)
    judged: list[Row] = [
        ["integrity of the run", {"rule": "verify", "of": "integrity"}],
        ["completeness of the run", {"rule": "verify", "of": "completeness"}],
    ]
    rows: list[Row] = [
        *([] if is_inside else judged),
        ["ledger", head(record.started.seq, "ledger")],
        ["checkpoint over", [{"rule": "checkpoint", "of": "size"}, " events"]],
        ["root of their tree", {"rule": "checkpoint", "of": "root"}],
    ]
    rows.extend(
        ["key that signed the run", head(one, "key")] for one in signers.values()
    )
    rows.extend(["fingerprint of the root", root] for root in roots)
    yield {"title": "Proof", "blocks": [{"facts": rows}, *_meaning()]}
    yield {
        "title": "Check it without its sender",
        "blocks": [*_check(roots, is_inside=is_inside)],
    }


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _meaning() -> Iterator[Block]:
    yield {
        "say": "Whether the root belongs to whom you think is not for this page to say: "
        "ask its keeper for the fingerprint, by another way than this page came."
    }
    yield {
        "say": "The writer of a ledger can write anything into it. Signatures show that it "
        "was not changed afterwards; a checkpoint in other hands shows that nothing was "
        "left out since then."
    }


def _check(roots: list[Piece], *, is_inside: bool) -> Iterator[Block]:
    asked = (
        "This page is a file of an evidence bundle. Alone it proves nothing. Verify the "
        "bundle, which compares each value here with its event,"
        if is_inside
        else "This page proves nothing. Ask its sender for the evidence bundle of the run, "
        "and verify that,"
    )
    yield {"say": f"{asked} with the fingerprint of the root from its keeper:"}
    for root in roots[:1]:
        yield {
            "say": ["pip install muniment; muniment verify evidence.zip --key ", root]
        }
    yield {
        "say": "A verifier that came with the evidence proves nothing against its sender. "
        "Take the published one, or other people's tools: the page Verify without "
        "muniment of its documentation names them. The standalone verifiers of the version "
        f"that wrote this page have the SHA-256 {_digest(one_file())} (Python) and "
        f"{_digest(program())} (JavaScript)."
    }
    yield {
        "say": "Each value from the record names its event, and its place in there. With "
        "the ledger, muniment events show NUMBER prints it. Words without a number are "
        "those of the program that wrote this page, or of whoever changed it since."
    }
