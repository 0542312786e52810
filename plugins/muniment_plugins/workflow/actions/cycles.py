"""Cycles: actions that wait for each other, each group once, in the order of the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["cycles_in", "reached_from"]

Links = Mapping[str, Iterable[str]]


def reached_from(start: str, links: Links) -> set[str]:
    """Return all that *links* lead to from *start*, without *start* unless they do."""
    found: set[str] = set()
    left = [start]
    while left:
        for one in links.get(left.pop(), ()):
            if one not in found:
                found.add(one)
                left.append(one)
    return found


def cycles_in(links: Links) -> tuple[tuple[str, ...], ...]:
    """Return the groups of *links* each member of which leads to all the others.

    Groups and members come in the order of the keys. What only leads to a cycle, or is
    led to by one, is in none.
    """
    back: dict[str, list[str]] = {name: [] for name in links}
    for name, targets in links.items():
        for one in targets:
            back[one].append(name)
    group: dict[str, int] = {}
    for number, name in enumerate(reversed(_finished(links))):
        left = [name] if name not in group else []
        while left:
            one = left.pop()
            if one not in group:
                group[one] = number
                left += [other for other in back[one] if other not in group]
    groups: dict[int, list[str]] = {}
    for name in links:
        groups.setdefault(group[name], []).append(name)
    return tuple(tuple(one) for one in groups.values() if len(one) > 1)


def _finished(links: Links) -> list[str]:
    """Return the names in the order in which a walk is done with them."""
    done: list[str] = []
    seen: set[str] = set()
    for start in links:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(links[start]))]
        while stack:
            name, left = stack[-1]
            following = next((one for one in left if one not in seen), None)
            if following is None:
                done.append(name)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(links[following])))
    return done
