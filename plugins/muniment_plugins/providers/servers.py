"""The providers that are asked over HTTP: their addresses, keys and headers.

    openai      OPENAI_API_KEY     OPENAI_BASE_URL     https://api.openai.com/v1
    anthropic   ANTHROPIC_API_KEY  ANTHROPIC_BASE_URL  https://api.anthropic.com

Rules:

- A key is read from the environment when it is sent, and is written nowhere. A server
  that is not the provider's own may need no key.
- A base URL is taken from the prompt, then from the environment.
- Every attempt is a fact of the effect, ``llm.attempted``; all of them have the effect's
  idempotency key.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from muniment.errors import UsageError
from muniment.runs.run import Run, current_run
from muniment_plugins.providers.attempts import Plan, Post, asend, send
from muniment_plugins.providers.clients.exchange import Outcome, Received
from muniment_plugins.providers.prices import cost
from muniment_plugins.providers.prompt import Answer, Prompt
from muniment_plugins.providers.refusals import CompletionFailed, no_key
from muniment_plugins.providers.retries import attempts
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.stream_listener import Ear
from muniment_plugins.providers.wire_formats.answer_flaws import (
    Flaw,
    flaw_of,
    is_streamed,
)
from muniment_plugins.providers.wire_formats.chat_completions import Chat
from muniment_plugins.providers.wire_formats.messages import Messages
from muniment_plugins.providers.wire_formats.responses import Responses
from muniment_plugins.providers.wire_formats.sse import objects
from muniment_plugins.providers.wire_formats.wire_format import Format, NoAnswer

__all__ = ["SERVERS", "aask", "ask"]

ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Server:
    """One provider as its environment describes it."""

    name: str
    key_variable: str
    url_variable: str
    url: str

    def base(self, prompt: Prompt) -> str:
        """Return the base URL for *prompt*."""
        given = prompt.base_url or os.environ.get(self.url_variable) or self.url
        return given.rstrip("/")

    def key(self, base: str) -> str | None:
        """Return the key.

        Raises:
            UsageError: there is none, and the provider's own server needs one.

        """
        key = os.environ.get(self.key_variable, "").strip()
        if not key and base == self.url:
            raise no_key(self.name, self.key_variable)
        if not key.isascii() or not key.isprintable():
            raise UsageError(
                "the key holds characters that no key has",
                rule="provider/no-key",
                place=self.key_variable,
                remedy="set it again, without quotes and line ends",
            )
        return key or None


SERVERS: Mapping[str, Server] = {
    "openai": Server(
        "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"
    ),
    "anthropic": Server(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "https://api.anthropic.com",
    ),
}


@dataclass(frozen=True, slots=True)
class _Question:
    """One prompt on its way to one server."""

    lane: Run
    server: Server
    format: Format
    prompt: Prompt
    post: Post
    redaction: Redaction
    ear: Ear

    @property
    def place(self) -> str:
        return f"{self.server.name}:{self.prompt.model}"

    def plan(self) -> Plan:
        return attempts(self.prompt.attempts, self.place, self.judge, self.note)

    def judge(self, outcome: Outcome) -> Flaw | None:
        return flaw_of(outcome, self.redaction, self.format.ends)

    def note(self, attempt: Mapping[str, object]) -> None:
        self.ear.again()
        _ = self.lane.record("llm.attempted", attempt).event  # durable before the next

    def heard(self, status: int, chunk: bytes) -> None:
        if self.prompt.stream and status < 400:  # noqa: PLR2004 - no error's words
            self.ear.hear(chunk)

    def answer(self, received: Received) -> dict[str, object]:
        body = b"".join(self.redaction.chunks(received.chunks)).decode(
            "utf-8", "replace"
        )
        try:
            answer = self._read(is_streamed(received), body)
        except NoAnswer as none:
            raise CompletionFailed(
                str(none),
                place=self.place,
                remedy=none.remedy,
                status=received.status,
            ) from None
        except (LookupError, TypeError, ValueError) as error:
            raise CompletionFailed(
                f"the answer is not in the format of {self.format.path} "
                f"({type(error).__name__}: {error}): {body[:200]!r}",
                rule="provider/answer",
                place=self.place,
                remedy="check the base URL, and which API the server speaks",
                status=received.status,
            ) from None
        model = answer.model or self.prompt.model
        price = cost(self.server.name, model, answer.usage)
        told = replace(answer, provider=self.server.name, cost=price)
        return told.to_json()

    def _read(self, streamed: bool, body: str) -> Answer:
        whole = self.format.gather(objects(body)) if streamed else json.loads(body)
        return self.format.read(whole)


def ask(lane: Run, provider: str, prompt: Prompt, ear: Ear) -> dict[str, object]:
    """Ask *provider* inside an effect of *lane*, and wait.

    Raises:
        CompletionFailed: there is no completion.
        UsageError: a package or a key is missing, or the prompt does not fit.

    """
    question = _question(lane, provider, prompt, ear)
    received = send(question.post, question.plan(), question.heard)
    return question.answer(received)


async def aask(lane: Run, provider: str, prompt: Prompt, ear: Ear) -> dict[str, object]:
    """Do as `ask` does, awaited."""
    question = _question(lane, provider, prompt, ear)
    received = await asend(question.post, question.plan(), question.heard)
    return question.answer(received)


def _question(lane: Run, provider: str, prompt: Prompt, ear: Ear) -> _Question:
    server = SERVERS[provider]
    base = server.base(prompt)
    key = server.key(base)
    spoken = _format(provider, prompt)
    for name in spoken.lacks:
        if getattr(prompt, name):
            raise UsageError(
                f"{spoken.path} knows no {name}",
                rule="provider/prompt",
                place=f"prompt.{name}",
                remedy="leave it out",
            )
    own = replace(prompt, base_url=None if base == server.url else base)
    body = json.dumps(spoken.body(own), ensure_ascii=False).encode()
    headers = {
        "content-type": "application/json",
        **_idempotency(),
        **_credentials(provider, key),
    }
    url = base + spoken.path
    if provider == "anthropic" and base.endswith("/v1"):
        url = base.removesuffix("/v1") + spoken.path
    post = Post(url, headers, body, prompt.timeout_s, provider)
    redaction = Redaction.knowing(key, *Redaction.of(url, headers.items()).known)
    ear.spoken = spoken.delta
    return _Question(lane, server, spoken, prompt, post, redaction, ear)


def _idempotency() -> dict[str, str]:
    try:
        return {"idempotency-key": current_run().idempotency_key}
    except UsageError:  # asked outside of an effect, without a record
        return {}


def _format(provider: str, prompt: Prompt) -> Format:
    if provider == "anthropic":
        return Messages()
    return Responses() if prompt.api == "responses" else Chat()


def _credentials(provider: str, key: str | None) -> dict[str, Any]:
    if provider == "anthropic":
        version = {"anthropic-version": ANTHROPIC_VERSION}
        return version if key is None else {**version, "x-api-key": key}
    named = {
        "openai-organization": os.environ.get("OPENAI_ORG_ID", "").strip(),
        "openai-project": os.environ.get("OPENAI_PROJECT_ID", "").strip(),
    }
    kept = {name: value for name, value in named.items() if value}
    return kept if key is None else {**kept, "authorization": f"Bearer {key}"}
