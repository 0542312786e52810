"""The outcome of one program: a verdict, its evidence, and nothing that can act.

    {"status": "ok", "metrics": {"total": 15}, "level": "process", "seed": 0, …}

Statuses: ``ok``; ``rejected`` before anything ran; ``error`` raised by the program;
``timeout`` of the CPU or the wall clock; ``limit`` of memory or result size;
``killed`` by a signal, or for breaking the protocol.

``level`` says how the program was isolated: ``os-strong`` and ``os-partial`` by layers
of the operating system, with and without Landlock; ``engine`` by an interpreter that
has no system beneath it; ``process`` by the language layer and a subprocess with
limits; ``none`` means that nothing ran. ``layers`` names each layer, the system's
answer if one is missing, and what a probe child could do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import encode

__all__ = ["Execution", "digest_of"]


def digest_of(code: str) -> str:
    """Return the SHA-256 by which an execution names its program."""
    data = code.encode(errors="surrogatepass")
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of `Capsule.run`.

    ``error`` has rule, message, line, column, type and remedy; ``usage`` has cpu_s,
    wall_s and max_rss_kb, which differ from run to run.
    """

    status: str
    metrics: dict[str, JsonValue] | None
    error: dict[str, JsonValue] | None
    layers: dict[str, JsonValue]
    level: str
    seed: int
    code_digest: str
    usage: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    environment: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    stdout: str = ""
    stdout_truncated: bool = False
    stderr: str = ""
    """The end of what interpreter and libraries reported."""
    exit: str | None = None
    """``answered``, the signal that ended it, or ``code 1``; None if nothing ran."""
    non_finite: bool = False
    """Whether the metrics may hold NaN and infinities."""

    @property
    def stdout_digest(self) -> str:
        """The SHA-256 of the kept part of the output."""
        return f"sha256:{hashlib.sha256(self.stdout.encode()).hexdigest()}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return everything as JSON, in a form that events and hooks can carry.

        If NaN was allowed, the metrics are encoded by `muniment.encoding.codec.encode`.
        """
        return {
            "code_digest": self.code_digest,
            "environment": self.environment,
            "error": self.error,
            "exit": self.exit,
            "layers": self.layers,
            "level": self.level,
            "metrics": encode(self.metrics) if self.non_finite else self.metrics,
            "non_finite": self.non_finite,
            "seed": self.seed,
            "status": self.status,
            "stderr": self.stderr,
            "stdout": self.stdout,
            "stdout_digest": self.stdout_digest,
            "stdout_truncated": self.stdout_truncated,
            "usage": self.usage,
        }
