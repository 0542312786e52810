"""Dependencies between agents, and the one order in which their steps are taken.

    in_order(("b", "a", "c"), {"b": ("a",)})        ('a', 'b', 'c')

Rule: an agent comes after all that it depends on; of those that can be next, the one
whose name is first. So a manifest's order of agents changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from muniment.documents.places import At, near

__all__ = ["dependencies_of", "in_order", "require_agent"]

_SHOWN = 8


def require_agent(name: str, agents: Sequence[str], at: At) -> None:
    """Refuse a name that no agent of the flow has.

    Raises:
        UsageError: there is no such agent.

    """
    if name not in agents:
        raise at.wrong(
            f"no agent is called {name!r:.80}", "agent-unknown", near(name, agents)
        )


def dependencies_of(
    agents: Sequence[str], written: Sequence[str], at: At
) -> dict[str, tuple[str, ...]]:
    """Return agent → what it depends on, from texts ``agent:dependency``.

    Raises:
        UsageError: an agent is unknown, or depends on itself.

    """
    found: dict[str, tuple[str, ...]] = {}
    known = frozenset(agents)
    for number, text in enumerate(written):
        there = at.key("dependencies").item(number)
        agent, _, other = text.partition(":")
        for name in (agent, other):
            if name not in known:
                require_agent(name, agents, there)
        if agent == other:
            raise there.wrong(f"{agent} depends on itself", "cycle", "leave it out")
        found[agent] = (*found.get(agent, ()), other)
    return found


def in_order(
    agents: Sequence[str], needed: Mapping[str, tuple[str, ...]], at: At
) -> tuple[str, ...]:
    """Return the order of the steps.

    Raises:
        UsageError: agents depend on each other in a circle, which the message shows.

    """
    waiting = {one: len(needed.get(one, ())) for one in agents}
    users: dict[str, list[str]] = {one: [] for one in agents}
    for agent, others in needed.items():
        for other in others:
            users[other].append(agent)
    ready = [one for one, count in waiting.items() if not count]
    heapq.heapify(ready)
    done: list[str] = []
    while ready:
        done.append(heapq.heappop(ready))
        for user in users[done[-1]]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    if len(done) < len(waiting):
        circle = _circle(needed, set(waiting) - set(done))
        shown = [*circle[:_SHOWN], *(["…"] if len(circle) > _SHOWN else []), circle[0]]
        raise at.key("dependencies").wrong(
            f"they go in a circle: {' needs '.join(shown)}",
            "cycle",
            "leave one of them out",
        )
    return tuple(done)


def _circle(needed: Mapping[str, tuple[str, ...]], left: set[str]) -> list[str]:
    """Return agents of *left* of which each needs the next, and the last the first."""
    path = [min(left)]
    while True:
        following = min(one for one in needed[path[-1]] if one in left)
        if following in path:
            return path[path.index(following) :]
        path.append(following)
