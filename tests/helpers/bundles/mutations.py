"""Changes of a bundle without end: every file as a whole, every line, every JSON leaf.

    for what, files in mutations(honest, Random(7)): …

Rule: the first are those of `spoilings`, plain and with a MANIFEST that agrees; then come
random changes of leaves, of payloads inside their envelopes, too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from muniment.encoding.canonical import canonical
from spoiled_bundles import Files, sealed, spoilings

__all__ = ["mutations"]

_JSON = (".json", ".jsonl")


def mutations(honest: Files, chance: Random) -> Iterator[tuple[str, Files]]:
    """Yield changed bundles, and what was changed."""
    for one in spoilings(honest):
        yield f"{one.name}: {one.what}", one.files
        if (listed := sealed(one.files)) != honest:
            yield f"{one.name}: {one.what}, listed", listed
    names = sorted(name for name in honest if name.endswith(_JSON))
    while True:
        name = chance.choice(names)
        data = honest[name]
        if name.endswith(".jsonl"):
            lines = data.splitlines(keepends=True)
            at = chance.randrange(len(lines))
            lines[at] = _line(lines[at][:-1], chance) + b"\n"
            data = b"".join(lines)
        else:
            data = _line(data.rstrip(b"\n"), chance) + b"\n"
        files: Files = {**honest, name: data}
        files = sealed(files) if chance.random() < 0.7 else files
        if files != honest:
            yield f"{name}: a leaf", files


def _line(text: bytes, chance: Random) -> bytes:
    value: Any = json.loads(text)
    envelope = value.get("dsseEnvelope", value) if isinstance(value, dict) else {}
    if "payload" in envelope and chance.random() < 0.6:
        inside = json.loads(base64.b64decode(envelope["payload"]))
        changed = canonical(_changed(inside, chance))
        envelope["payload"] = base64.b64encode(changed).decode()
    else:
        value = _changed(value, chance)
    return _spelled(value)


def _spelled(value: Any) -> bytes:
    try:
        return canonical(value)
    except ValueError:
        return json.dumps(value).encode()


def _changed(value: Any, chance: Random) -> Any:
    """Change one leaf, or one member or item somewhere."""
    holder: dict[str, Any] = {"": value}
    places = list(_places(holder))
    within, key = chance.choice(places)
    old = within[key]
    how = chance.randrange(6)
    if how == 0 and within is not holder:
        del within[key]
    elif how == 1 and isinstance(within, list):
        within.append(old)
    elif how == 2 and isinstance(old, dict):
        old["added"] = chance.choice([None, 1, "x", {}, []])
    elif how == 3:
        within[key] = chance.choice(
            [None, True, 0, -1, 2**53 - 1, 1.5, "", [], {}, "\u2028"]
        )
    else:
        within[key] = _other(old, chance)
    return holder[""]


def _other(old: Any, chance: Random) -> Any:
    if isinstance(old, bool):
        return not old
    if isinstance(old, int | float):
        return old + chance.choice([-1, 1, 7])
    if isinstance(old, str) and old:
        at = chance.randrange(len(old))
        return old[:at] + chance.choice("0aA/=é") + old[at + 1 :]
    if isinstance(old, list):
        return old[::-1] if len(old) > 1 else [*old, "x"]
    if isinstance(old, dict):
        return list(old)
    return "x"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])
