"""Compacting: which messages go, what stands for them, and what is shortened.

Rules:

- Messages of the system at the beginning stay. Of the others the last ones stay, from a
  message of a user on if there is one nearby; a result of a tool is never parted from
  the call that it answers.
- Each strategy leaves a summary, in the words of a model or of a function, or made of the
  messages themselves: ``truncate`` keeps the beginning of each, ``observation_mask`` the
  whole of them without the results of tools. Where a model did not finish its summary,
  `INSTEAD` makes one of the messages.
- A summary of something private is private.
- What would not make the transcript shorter is not done: a summary that takes as much as
  the messages, a result that is longer when it is cut.
- Above a hard limit a second strategy has its turn with fewer messages, and then fewer;
  if not even the last exchange fits, the compaction is refused and nothing is changed.
- Nothing here touches a ledger: a plan is made, then written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from muniment.errors import RefusedError
from muniment_plugins.workflow.artifacts.texts import BYTES_PER_TOKEN, boundary
from muniment_plugins.workflow.sessions.messages import said, tokens_in, visible_text
from muniment_plugins.workflow.sessions.policies import CompactPolicy

__all__ = ["Ask", "Kept", "Plan", "plans_for", "total"]

Message = Mapping[str, object]
Ask: TypeAlias = Callable[[str, object], Awaitable[str | None]]
"""Gives a text: for ``llm`` and ``custom`` of messages, for ``mask_callback`` of a message,
for ``compress_callback`` of a text. None for ``llm`` if the model did not finish it."""

INSTEAD = "observation_mask"

_SHOWN = 240
"""How much of a message the strategy ``truncate`` shows, in characters."""
_SHOWN_WHOLE = 2_000
_LONGEST = 24_000
"""How many characters a summary that is made of messages has at most."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A message of a transcript, with its text."""

    id: str
    role: str
    message: Message
    tokens: int
    visibility: str = "public"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a compaction does."""

    strategy: str
    reason: str
    pinned: int
    """How many messages at the beginning stay."""
    archived: int
    """How many messages after these go."""
    summary: Message
    visibility: str
    """``private`` if something private is in the summary."""
    replaced: Mapping[str, Message]
    """Id → the shorter form of a message that stays."""
    archive: Sequence[Mapping[str, object]]
    before: int
    after: int
    """The tokens before and after."""

    @property
    def saves(self) -> bool:
        """Whether less is left."""
        return self.after < self.before


def total(messages: Sequence[Kept]) -> int:
    """Return the tokens of *messages*."""
    return sum(one.tokens for one in messages)


async def plans_for(
    messages: Sequence[Kept], policy: CompactPolicy, reason: str, ask: Ask
) -> tuple[list[Plan], Plan | None]:
    """Return what is done to *messages*, one compaction after the other; maybe nothing.

    The second is a compaction that is not done, since it saves nothing; None without one.

    Args:
        messages: the transcript.
        policy: how it is compacted.
        reason: why.
        ask: asks models and functions.

    Raises:
        RefusedError: they do not fit the hard limit, whatever is done.

    """
    found: list[Plan] = []
    left, keep = list(messages), policy.keep_last
    first = await _plan(left, policy, policy.compact_strategy, keep, reason, ask)
    declined = first if first is not None and not first.saves else None
    if first is not None and first.saves:
        found.append(first)
        left = _after(left, first)
    limit = policy.hard_limit_tokens
    while limit is not None and total(left) > limit:
        keep = max(1, keep // 2)
        strategy = policy.hard_limit_strategy
        plan = await _plan(left, policy, strategy, keep, "hard_limit", ask, limit)
        if plan is None or not plan.saves:
            raise _too_long(total(left), limit)
        found.append(plan)
        left = _after(left, plan)
    return found, declined


async def _plan(  # noqa: PLR0913, PLR0917 - what a compaction depends on
    messages: Sequence[Kept],
    policy: CompactPolicy,
    strategy: str,
    keep: int,
    reason: str,
    ask: Ask,
    limit: int | None = None,
) -> Plan | None:
    """Return one compaction; None if it would change nothing."""
    pinned = _pinned(messages)
    first = _first_kept(messages, pinned, keep)
    gone, stays = messages[pinned:first], messages[first:]
    most = policy.tool_output_max_chars
    replaced: dict[str, Message] = {}
    for one in stays:
        if one.role == "tool" and len(said(one.message)) > most:
            shorter = await _cut(one.message, most, policy, ask)
            if tokens_in(shorter) < one.tokens:
                replaced[one.id] = shorter
    if not gone and not replaced:
        return None
    text = ""
    if gone:
        strategy, text = await _summary(strategy, gone, policy, ask)
    rest = [*messages[:pinned], *_with(stays, replaced)]
    if limit is not None:
        text = _within(text, limit - total(rest))
    summary: Message = {"role": "user", "content": text}
    whole = [*gone, *(one for one in stays if one.id in replaced)]
    hidden = any(one.visibility == "private" for one in whole)
    return Plan(
        strategy,
        reason,
        pinned,
        len(gone),
        summary,
        "private" if hidden else "public",
        replaced,
        [{"id": one.id, "visibility": one.visibility, **one.message} for one in whole],
        total(messages),
        total(rest) + (tokens_in(summary) if gone else 0),
    )


def _within(text: str, tokens: int) -> str:
    """Return as much of the beginning of *text* as has so many *tokens*."""
    data = text.encode()
    return data[: boundary(data, max(0, tokens) * BYTES_PER_TOKEN)].decode()


def _pinned(messages: Sequence[Kept]) -> int:
    count = 0
    while count < len(messages) and messages[count].role == "system":
        count += 1
    return count


def _first_kept(messages: Sequence[Kept], pinned: int, keep_last: int) -> int:
    """Return the position of the first message that stays after those that are pinned."""
    wanted = max(pinned, len(messages) - keep_last)
    nearest = wanted
    while nearest > pinned and messages[nearest].role != "user":
        nearest -= 1
    if pinned < nearest and wanted - nearest <= keep_last:
        return nearest
    while wanted > pinned and messages[wanted].role == "tool":
        wanted -= 1
    return wanted


def _with(stays: Sequence[Kept], replaced: Mapping[str, Message]) -> list[Kept]:
    return [
        replace(one, message=shorter, tokens=tokens_in(shorter))
        if (shorter := replaced.get(one.id)) is not None
        else one
        for one in stays
    ]


def _after(messages: Sequence[Kept], plan: Plan) -> list[Kept]:
    """Return the messages that *plan* leaves."""
    rest = _with(messages[plan.pinned + plan.archived :], plan.replaced)
    tokens = tokens_in(plan.summary)
    summary = Kept("", "user", plan.summary, tokens, plan.visibility)
    head = list(messages[: plan.pinned])
    return [*head, *([summary] if plan.archived else []), *rest]


async def _cut(message: Message, most: int, policy: CompactPolicy, ask: Ask) -> Message:
    text = said(message)
    if policy.compress_callback is not None:
        return {**message, "content": await ask("compress_callback", text)}
    head, tail = most * 3 // 4, most // 4
    middle = f"\n[{len(text) - head - tail} characters left out]\n"
    end = text[-tail:] if tail else ""
    return {**message, "content": text[:head] + middle + end}


async def _summary(
    strategy: str, gone: Sequence[Kept], policy: CompactPolicy, ask: Ask
) -> tuple[str, str]:
    """Return which strategy made a summary of what is *gone*, and that."""
    if strategy in ("llm", "custom"):
        made = await ask(strategy, [dict(one.message) for one in gone])
        if made is not None:
            return strategy, _head(gone, strategy) + made
        strategy = INSTEAD
    if strategy == "truncate":
        lines = [_line(one, _SHOWN) for one in gone]
    else:
        lines = [await _masked(one, policy, ask) for one in gone]
    text = "\n".join(lines)
    if len(text) > _LONGEST:
        left_out = len(text) - _LONGEST
        text = f"[{left_out} characters left out]\n{text[-_LONGEST:]}"
    return strategy, _head(gone, strategy) + text


def _head(gone: Sequence[Kept], strategy: str) -> str:
    return f"[{len(gone)} earlier messages, by the strategy {strategy}]\n"


def _line(one: Kept, most: int) -> str:
    text = visible_text(one.message)
    if len(text) > most:
        text = f"{text[:most]} [of {len(text)} characters]"
    return f"{one.role}: {text}"


async def _masked(one: Kept, policy: CompactPolicy, ask: Ask) -> str:
    if one.role != "tool":
        return _line(one, _SHOWN_WHOLE)
    if policy.mask_callback is not None:
        return f"tool: {await ask('mask_callback', dict(one.message))}"
    return f"tool: [a result of {len(said(one.message))} characters]"


def _too_long(tokens: int, limit: int) -> RefusedError:
    return RefusedError(
        f"what has to stay has {tokens} tokens, and the hard limit is {limit}",
        rule="session/hard-limit",
        place="hard_limit_tokens",
        remedy="raise it, keep less by keep_last, or trim the session",
    )
