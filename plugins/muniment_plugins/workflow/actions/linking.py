"""Which actions an action depends on: references, resolved, and those that are added.

Rules:

- Where the planner has batches, or phases, their order is kept, and listed as what was
  added; where dependencies say the contrary, these count.
- What an action says twice is followed, and listed, once. What all actions refer to, each
  for itself and by the groups that it is in, is bounded: a short plan makes no long graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError
from muniment_plugins.workflow.actions.collecting import FoundGroup, first_text
from muniment_plugins.workflow.actions.cycles import reached_from
from muniment_plugins.workflow.actions.items import ActionDraft
from muniment_plugins.workflow.actions.words import (
    DEPENDENCIES,
    NAMES,
    SOURCE_IDS,
    TITLES,
)

__all__ = ["Links", "linked"]

Row = dict[str, JsonValue]
_MOST = 1_000_000
"""What all references of a plan may cost: one each, and one for each action that is named."""
_LISTED = 100
"""What a reference costs beside, that is listed with what became of it."""
_NUMBERED = re.compile(r"(?:(?:action|step|task|item)(?:[\s_]*|-))?#?\s*([0-9]{1,6})")


@dataclass(slots=True)
class Links:
    """What depends on what, and what was made of the references on the way."""

    targets: dict[str, list[str]]
    repairs: list[JsonValue] = field(default_factory=list[JsonValue])
    dropped: list[JsonValue] = field(default_factory=list[JsonValue])
    ambiguous: list[JsonValue] = field(default_factory=list[JsonValue])
    followed: int = 0

    def follow(self, cost: int, at: At) -> None:
        """Count a reference, and what it costs to follow it.

        Raises:
            RefusedError: the plan has too many.

        """
        self.followed += cost
        if self.followed > _MOST:
            raise RefusedError(
                "its actions, and the groups that they are in, refer to too many others",
                rule="workflow/plan-size",
                place=f"{at.file}: {at.path}",
                remedy="let groups depend on groups, or plan in parts",
            )


class _Names:
    """Under which names the actions and groups of a plan are referred to."""

    def __init__(self, drafts: Sequence[ActionDraft]) -> None:
        self._count = len(drafts)
        self._ids: dict[str, list[tuple[str, ...]]] = {}
        self._titles: dict[str, list[tuple[str, ...]]] = {}
        members: dict[FoundGroup, list[str]] = {}
        for one in drafts:
            for group in one.found.groups:
                members.setdefault(group, []).append(one.id)
        for group, inside in members.items():
            self._add(group.said, tuple(inside))
        for one in drafts:
            self._add(one.found.said, (one.id,))

    def _add(self, said: Mapping[str, JsonValue], ids: tuple[str, ...]) -> None:
        for key in SOURCE_IDS:
            name = first_text(said, (key,))
            if name is not None:
                self._under(self._ids, name, ids)
        title = first_text(said, TITLES)
        if title is not None:
            self._under(self._titles, title, ids)

    @staticmethod
    def _under(
        table: dict[str, list[tuple[str, ...]]], name: str, ids: tuple[str, ...]
    ) -> None:
        there = table.setdefault(_folded(name), [])
        if ids not in there:
            there.append(ids)

    def named(self, reference: str) -> list[tuple[str, ...]]:
        """Return all that *reference* can mean, the last one being what is meant."""
        word = _folded(reference)
        if word in self._ids:
            return self._ids[word]
        number = _NUMBERED.fullmatch(word)
        if number is not None and 1 <= int(number[1]) <= self._count:
            return [(f"action-{int(number[1])}",)]
        return self._titles.get(word, [])


def _folded(name: str) -> str:
    return " ".join(name.lower().split())


def linked(drafts: Sequence[ActionDraft]) -> Links:
    """Return what each of *drafts* depends on."""
    names = _Names(drafts)
    links = Links({one.id: [] for one in drafts})
    for draft in drafts:
        known = set[str]()
        there = dict[str, None]()  # in the order in which they are named
        for said, at in [
            *((one.said, one.at) for one in draft.found.groups),
            (draft.found.said, draft.found.at),
        ]:
            for reference, place in _references(said, at, names):
                links.follow(1, place)
                word = _word(reference)
                if word is None or word not in known:
                    meant = None if word is None else names.named(word)
                    there |= _resolved(draft, reference, place, meant, links)
                known |= set() if word is None else {word}
        links.targets[draft.id] += there
    additions = _Additions(links)
    _repair(drafts, links, additions)
    _keep_order(drafts, links, additions)
    return links


def _references(
    said: Mapping[str, JsonValue], at: At, names: _Names
) -> Iterator[tuple[JsonValue, At]]:
    for key in DEPENDENCIES:
        value = said.get(key)
        if value is None:
            continue
        there = at.key(key)
        if isinstance(value, list):
            for number, one in enumerate(value):
                yield one, there.item(number)
        elif isinstance(value, str) and "," in value and not names.named(value):
            for one in value.split(","):  # planners write lists as texts, too
                yield one.strip(), there
        elif value != "":
            yield value, there


def _word(reference: JsonValue) -> str | None:
    """Return what *reference* says; None if that is no name."""
    said = first_text(reference, NAMES) if isinstance(reference, dict) else reference
    is_name = isinstance(said, str | int) and not isinstance(said, bool)
    return str(said) if is_name else None


def _resolved(
    draft: ActionDraft,
    reference: JsonValue,
    at: At,
    meant: Sequence[tuple[str, ...]] | None,
    links: Links,
) -> dict[str, None]:
    """Return what *draft* depends on by a *reference*, of all that it can have *meant*."""
    row: Row = {"action": draft.id, "reference": reference, "place": at.path}
    is_plain = meant is not None and len(meant) == 1
    links.follow(sum(map(len, meant or ())) + (0 if is_plain else _LISTED), at)
    if not meant:
        reason = "form" if meant is None else "unknown"
        links.dropped.append({**row, "reason": reason})
        return {}
    if len(meant) > 1:
        others = sorted({one for ids in meant[:-1] for one in ids} - {*meant[-1]})
        both: Row = {"taken": [*meant[-1]], "others": [*others]}
        links.ambiguous.append({**row, **both})
    if draft.id in meant[-1]:
        links.dropped.append({**row, "reason": "self"})
        return {}
    return dict.fromkeys(meant[-1])


class _Additions:
    """Adds dependencies that close no cycle, and lists them."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._back: dict[str, list[str]] = {}
        for name, targets in links.targets.items():
            for one in targets:
                self._back.setdefault(one, []).append(name)

    def add(self, action: str, before: Sequence[str], reason: str) -> None:
        """Let *action* come after those of *before* that do not wait for it themselves."""
        waiting = reached_from(action, self._back)
        added = [one for one in before if one not in waiting]
        if added:
            self._links.targets[action] += added
            row: Row = {"action": action, "added": [*added], "reason": reason}
            self._links.repairs.append(row)
        for one in added:
            self._back.setdefault(one, []).append(action)


def _repair(drafts: Sequence[ActionDraft], links: Links, additions: _Additions) -> None:
    """Let work come after research, and checks after work, where nothing else is said."""
    for position, draft in enumerate(drafts):
        if links.targets[draft.id]:
            continue
        earlier = drafts[:position]
        for phase in {"execute": ("research",), "verify": ("execute", "research")}.get(
            draft.phase, ()
        ):
            before = [one.id for one in earlier if one.phase == phase]
            if before:
                additions.add(draft.id, before, f"{draft.phase} after {phase}")
                break


def _keep_order(
    drafts: Sequence[ActionDraft], links: Links, additions: _Additions
) -> None:
    """Let the actions of each batch of the planner's come after those of the one before.

    An order that the dependencies have already is added no second time.
    """
    batches: dict[int, list[str]] = {}
    for one in drafts:
        if one.found.batch is not None:
            batches.setdefault(one.found.batch, []).append(one.id)
    for before, after in pairwise(batches):
        for action in batches[after]:
            reached = reached_from(action, links.targets)
            wanted = [one for one in batches[before] if one not in reached]
            reason = f"batch {after + 1} after batch {before + 1}"
            additions.add(action, wanted, reason)
