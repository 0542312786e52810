"""The shapes of well-known secrets, whatever they are called.

Rules: a shape is tried only if one of its hints is in the text; if a pattern has a
group, the group is the secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["SHAPES", "Shape", "shaped"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The pattern of one sort of secret; if it has a group, that is the secret."""

    hints: tuple[str, ...]
    """In lower case; a text without any of them holds no such secret."""
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, hints: str | Iterable[str], pattern: str) -> Shape:
        """Return the shape with *hints*; a text is a single hint."""
        found = (hints,) if isinstance(hints, str) else tuple(hints)
        return cls(found, re.compile(pattern, re.ASCII | re.DOTALL))


_WORD = r"(?<![A-Za-z0-9_])"
SHAPES: tuple[Shape, ...] = (
    Shape.of("sk-", rf"{_WORD}sk-[\w-]{{16,}}"),  # OpenAI, Anthropic, OpenRouter
    Shape.of(("_live_", "_test_"), rf"{_WORD}[spr]k_(?:live|test)_\w{{16,}}"),  # Stripe
    Shape.of(("akia", "asia"), rf"{_WORD}(?:AKIA|ASIA)[0-9A-Z]{{16}}\b"),  # AWS
    Shape.of(("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), rf"{_WORD}gh[oprsu]_\w{{30,}}"),
    Shape.of("github_pat_", rf"{_WORD}github_pat_\w{{22,}}"),
    Shape.of("glpat-", rf"{_WORD}glpat-[\w-]{{20,}}"),  # GitLab
    Shape.of("xox", rf"{_WORD}xox[a-z]-[\w-]{{10,}}"),  # Slack
    Shape.of("aiza", rf"{_WORD}AIza[\w-]{{35}}"),  # Google
    Shape.of("ya29.", rf"{_WORD}ya29\.[\w-]{{20,}}"),
    Shape.of("hf_", rf"{_WORD}hf_[A-Za-z0-9]{{30,}}"),  # Hugging Face
    Shape.of("gsk_", rf"{_WORD}gsk_[A-Za-z0-9]{{20,}}"),  # Groq
    Shape.of("xai-", rf"{_WORD}xai-[A-Za-z0-9]{{20,}}"),
    Shape.of("r8_", rf"{_WORD}r8_[A-Za-z0-9]{{30,}}"),  # Replicate
    Shape.of("hvs.", rf"{_WORD}hvs\.[\w-]{{20,}}"),  # Vault
    Shape.of("figd_", rf"{_WORD}figd_[\w-]{{20,}}"),  # Figma
    Shape.of("pypi-ag", rf"{_WORD}pypi-Ag[\w-]{{40,}}"),
    Shape.of("npm_", rf"{_WORD}npm_[A-Za-z0-9]{{36}}"),
    Shape.of(":aa", rf"{_WORD}\d{{8,10}}:AA[\w-]{{33}}\b"),  # Telegram
    Shape.of("/bot", r"/bot(\d+:[\w-]{16,})"),  # the same, in the path of its API
    Shape.of("/services/t", r"/services/T\w+/B\w+/(\w{8,})"),  # Slack's web hooks
    Shape.of("/webhooks/", r"/webhooks/\d+/([\w-]{16,})"),  # Discord
    Shape.of("eyj", rf"{_WORD}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{8,}}"),  # JWT
    Shape.of(
        "private key-----",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]++|-(?!----))*+"
        r"-----END [A-Z ]*PRIVATE KEY-----",
    ),
    Shape.of("://", r"://[^/\s:@\"]*:([^/\s:@\"]+)(?=@)"),  # a password in a URL
    Shape.of(("bearer", "basic"), r"(?i)\b(?:bearer|basic)\s+([\w.~+/=-]{16,})"),
)


def shaped(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield where secrets are in *text*; *lowered* is *text* in lower case."""
    for shape in SHAPES:
        if any(hint in lowered for hint in shape.hints):
            for match in shape.pattern.finditer(text):
                yield match.span(match.re.groups)
