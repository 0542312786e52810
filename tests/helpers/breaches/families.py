"""A run that called two others, as a holder of the writer's key would forge it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forge import RUN, Forge, Row

__all__ = ["CHILD", "KEY", "OTHER", "Data", "Family"]

CHILD = "01JD3Z8M6Q4W0V9K2T7N5RYXCC"
OTHER = "01JD3Z8M6Q4W0V9K2T7N5RYXCD"
KEY = "cd" * 32

Data = dict[str, Any]


@dataclass
class Family:
    """A run that called another one, with one change to an event's data."""

    forge: Forge
    event: str = ""
    spoil: Callable[[Data], object] = lambda _: None
    rows: dict[str, Row] = field(default_factory=dict[str, Row])

    def add(self, name: str, run: str, kind: str, data: Data, **chain: Any) -> None:
        """Write an event, spoiled if it is the one."""
        data["subject"] = chain.pop("subject", [])
        if name == self.event:
            self.spoil(data)
        subject = data.pop("subject")
        self.rows[name] = self.forge.append(
            kind, data, run=run, subject=subject, **chain
        )

    def blob(self, content: bytes, salt: str) -> Data:
        """Refer to *content* behind a commitment of its own."""
        kept = hashlib.sha256(salt.encode()).digest() + content
        digest = hashlib.sha256(kept).digest()
        self.forge.blobs.append((digest, len(self.forge.rows), kept))
        return {"$blob": f"sha256:{digest.hex()}", "size": len(content)}

    def begin(self, name: str, run: str, parent: str, key: str = KEY) -> None:
        """Write the start of a child."""
        of = hashlib.sha256(parent.encode()).hexdigest()
        self.add(
            name,
            run,
            "run.started",
            {
                "name": "x",
                "seed": "0",
                "parent": {"run": parent, "root": RUN, "key": key},
            },
            subject=[
                {"digest": {"sha256": key}, "name": "call"},
                {"digest": {"sha256": of}, "name": "parent"},
            ],
        )

    def end(self, name: str, run: str, content: bytes) -> None:
        """Complete a child."""
        self.rows[name] = self.forge.end_run(run, result=self.blob(content, name))

    def call(self, name: str, child: str, leaf: str, content: bytes, at: int) -> None:
        """Complete a call of the parent."""
        data = {
            "about": {"run": child, "leaf": leaf},
            "answered_by": {"who": "performer"},
            "value": self.blob(content, name),
        }
        self.add(name, RUN, "child.completed", data, ordinal=at)

    def write(self, content: bytes = b"7") -> None:
        """Write parent, child and grandchild, and how they ended."""
        self.add("start", RUN, "run.started", {"name": "x", "seed": "0"})
        self.add("asked", RUN, "child.requested", {"request": self.blob(b"1", "q")})
        self.begin("child", CHILD, RUN)
        self.end("ended", CHILD, b"7")
        self.call("called", CHILD, self.rows["ended"].hash.hex(), content, 1)
        again = {"request": self.blob(b"2", "q2")}
        self.add("asked again", RUN, "child.requested", again)
        self.begin("second", OTHER, RUN, "ef" * 32)
        self.end("second ended", OTHER, b"8")
        leaf = self.rows["second ended"].hash.hex()
        self.call("called again", OTHER, leaf, b"8", 3)
