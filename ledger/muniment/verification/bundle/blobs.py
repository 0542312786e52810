"""The blobs of a bundle, compared with what its events say of them.

Rules:

- A blob is a file of its commitment's name: salt and content, of the size that each
  reference states, and with that SHA-256.
- It is missing only if an event in the bundle erased it, and then it is not here.
- So is one that is withheld, and says so in `withheld.jsonl`.
- There is no blob that no event refers to.
"""

from __future__ import annotations

from typing import Any

from muniment.formats.evidence import blob_name, blob_of
from muniment.verification.bundle.members import Members
from muniment.verification.report import Findings
from muniment.verification.statements.blob_references import (
    SALT,
    blob_tag,
    references,
    unnamed,
)

__all__ = ["BundleBlobs"]

_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


class BundleBlobs:
    """Gathers references and erasures, and compares the files at the end."""

    def __init__(
        self, members: Members, findings: Findings, withheld: frozenset[str]
    ) -> None:
        self._members = members
        self._findings = findings
        self._withheld = {blob_tag(tag) for tag in withheld}
        self.known: dict[bytes | None, tuple[int, int]] = {}
        """Commitment → the size that is stated, and the first event that states it."""
        self._erased: dict[bytes, int] = {}
        self.compared = self.erased = self.withheld = 0

    @property
    def erased_tags(self) -> frozenset[str]:
        """The commitments that an event of the bundle erased."""
        return frozenset(f"sha256:{one.hex()}" for one in self._erased)

    def refer(self, seq: int, data: Any, subject: Any) -> None:
        """Keep the references of the event *seq*."""

        def say(rule: str, message: str, digest: bytes | None) -> None:
            self._add(rule, message, seq, digest)

        found = references(data, say)
        unnamed(found, subject, say)
        for digest, size in found.items():
            if self.known.setdefault(digest, (size, seq))[0] != size:
                self._add("blob/size", f"it has not {size} bytes", seq, digest)

    def erase(self, seq: int, listed: Any) -> None:
        """Keep what the event *seq* erased; it may name blobs of other runs."""
        for tag in listed:
            digest = blob_tag(tag)
            if digest is None:
                self._add("blob/erased", "it names no blob", seq)
            else:
                self._erased.setdefault(digest, seq)

    def finish(self) -> None:
        """Compare the files with what was gathered."""
        for digest, (size, seq) in self.known.items():
            if digest is not None:
                self._compare(digest, size, seq)
        for digest in self._withheld - self.known.keys():
            what = "it is withheld, and no event refers to it"
            self._add("blob/unreferenced", what, 0, digest)
        for name in self._members.sizes:
            digest = blob_of(name)
            if digest is not None and digest not in self.known:
                what = "no event refers to it"
                self._findings.add(
                    "inserted", "blob/unreferenced", what, place=name, remedy=_ASK
                )

    def _compare(self, digest: bytes, size: int, seq: int) -> None:
        name = blob_name(f"sha256:{digest.hex()}")
        erased = self._erased.get(digest, -1) > seq
        if digest in self._withheld:
            self.withheld += 1
            if erased or name in self._members.sizes:
                what = "it is withheld, and here, or erased"
                self._add("bundle/withheld", what, seq, digest)
        elif name not in self._members.sizes:
            if erased:
                self.erased += 1
                self.compared += 1
            else:
                self._add("blob/missing", "the blob is not here", seq, digest)
        elif erased:
            what = "it was erased, and is still there"
            self._add("blob/erased", what, seq, digest)
        elif self._members.sizes[name] != size + SALT:
            self._add("blob/size", f"it has not {size} bytes", seq, digest)
        elif self._members.digest(name) != digest:
            what = "its bytes do not match the commitment"
            self._add("blob/commitment", what, seq, digest)
        else:
            self.compared += 1

    def _add(
        self, rule: str, message: str, seq: int, digest: bytes | None = None
    ) -> None:
        named = "" if digest is None else blob_name(f"sha256:{digest.hex()}")
        self._findings.add(
            "blob", rule, message, seq=seq, place=named or f"event {seq}", remedy=_ASK
        )
