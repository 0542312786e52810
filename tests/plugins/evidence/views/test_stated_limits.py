"""All three verifiers hold the limits that the specification states, and name the file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forge import RUN
from forged import b64
from forged_bundles import Bundled
from muniment.encoding.canonical import canonical
from muniment.formats.evidence import MANIFEST, MOST_BYTES
from muniment.formats.evidence import RUN as VIEW
from muniment.verification.bundle.record import LONGEST_LINE
from spoiled_bundles import write
from three_verifiers import NEEDS_NODE, Verifiers
from worlds import World

pytestmark = NEEDS_NODE
Files = dict[str, bytes]
SHORT_LINE = 8_192


def unchanged(files: Files) -> Files:
    """Change nothing."""
    return files


def made(
    place: Path,
    tell: Callable[[World], object] = lambda _: None,
    spoil: Callable[[Files], Files] = unchanged,
) -> Path:
    """Write the bundle of a run, in which *tell* tells of more."""
    world = World(place / "world")
    world.start()
    world.note(run=RUN)
    tell(world)
    world.forge.end_run(RUN)
    return write(place / "bundle", Bundled(world, spoil=spoil).files())


@pytest.mark.parametrize("more", [1, 3 * 2**30])
@pytest.mark.parametrize("name", [*MOST_BYTES, MANIFEST])
def test_a_file_that_is_larger(
    name: str, more: int, three: Verifiers, tmp_path: Path
) -> None:
    """By a byte, or by more than a verifier could hold: it is wrong, and not unknown."""
    path = made(tmp_path)
    files = sum(one.is_file() for one in path.rglob("*"))
    most = MOST_BYTES.get(name, SHORT_LINE * files)
    (path / name).touch()
    os.truncate(path / name, most + more)
    three.refuse(path, name)


@pytest.mark.parametrize("more", [0, 1])
def test_the_view_may_be_as_large(more: int, three: Verifiers, tmp_path: Path) -> None:
    """The key holder closes the bundle over a view of just that size, or of one byte more."""

    def spoil(files: Files) -> Files:
        size = MOST_BYTES[VIEW] - len(files[VIEW]) + more
        return {**files, VIEW: files[VIEW] + b" " * size}

    path = made(tmp_path, spoil=spoil)
    three.refuse(path, VIEW) if more else three.take(path)


@pytest.mark.parametrize("more", [0, 1])
def test_a_payload_may_be_as_large(more: int, three: Verifiers, tmp_path: Path) -> None:
    """Of 65,536 bytes and no more (spec/event.md), which its line would have room for."""

    def tell(world: World) -> None:
        empty = world.forge.statement("note.added", {"text": ""}, run=RUN)
        world.forge.ordinals[RUN, ""] -= 1
        told = "x" * (65_536 - len(canonical(empty)) + more)
        assert len(world.note(told, run=RUN).payload) == 65_536 + more

    path = made(tmp_path, tell)
    line = max(map(len, (path / "events.intoto.jsonl").read_bytes().splitlines()))
    assert line < LONGEST_LINE
    three.refuse(path, "events.intoto.jsonl") if more else three.take(path)


def nested(levels: int, value: Any) -> Any:
    """Return *value* in so many arrays."""
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("inside", [1, [], {}])
@pytest.mark.parametrize("more", [0, 1])
def test_a_statement_may_be_nested_as_deep(
    more: int, inside: Any, three: Verifiers, tmp_path: Path
) -> None:
    """64 arrays and objects, the statement and its data among them (spec/canonical.md)."""
    levels = 64 - 3 - (inside != 1) + more
    path = made(
        tmp_path,
        lambda world: world.forge.append(
            "thing.seen", {"n": nested(levels, inside)}, run=RUN
        ),
    )
    three.refuse(path, "events.intoto.jsonl") if more else three.take(path)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("name", ["withheld.jsonl", "proofs.jsonl", MANIFEST])
def test_a_line_may_be_as_long(
    name: str, more: int, three: Verifiers, tmp_path: Path
) -> None:
    """Of a withheld event with a long scope; of proofs and names none is as long."""
    world = World(tmp_path / "world")
    world.start()
    said: dict[str, Any] = {"leaf": b64(bytes(32)), "ordinal": 0, "scope": "", "seq": 2}
    scope = "s" * (SHORT_LINE - len(canonical(said)) + more)
    hidden = world.note(run=RUN, scope=scope if name == "withheld.jsonl" else "s")
    world.forge.end_run(RUN)

    def spoil(files: Files) -> Files:
        place = json.loads(hidden.payload)["predicate"]["muniment"]
        told = {**said, "leaf": b64(hidden.hash), "scope": place["scope"]}
        proofs = files["proofs.jsonl"] + bundle._proof(hidden)
        line = canonical(told) + b"\n"
        return {**files, "withheld.jsonl": line, "proofs.jsonl": proofs}

    bundle = Bundled(world, spoil=spoil)
    bundle.rows = [one for one in bundle.chosen() if one is not hidden]
    files = bundle.files()
    if name != "withheld.jsonl":
        files = {**files, name: files[name][:-1] + b"x" * SHORT_LINE * more + b"\n"}
    path = write(tmp_path / "bundle", files)
    three.refuse(path, name) if more else three.take(path)
