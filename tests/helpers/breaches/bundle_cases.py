"""What is done to the bundle of a forged run, and how that becomes a case.

Rules: *spoiled* files are changed once all is written, *early* ones before MANIFEST lists
them and the closing event signs it; *parted* bundles are made of other parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forge import RUN
from forged_bundles import Bundled
from worlds import World, breaks

__all__ = [
    "Files",
    "added",
    "blob",
    "early",
    "edited",
    "found",
    "parted",
    "spoiled",
    "swapped",
    "told",
    "without",
]

Files = dict[str, bytes]


def told(world: World) -> Bundled:
    """Tell of a run with a blob, of another run, and of a note; bundle the first."""
    world.start()
    reference = world.forge.blob(b'"content"')
    details = {"text": "x", "details": reference}
    world.forge.append("note.added", details, run=RUN)
    world.note("of no run")
    world.start("OTHER")
    world.forge.end_run(RUN)
    return Bundled(world)


def found(bundle: Bundled, files: Files, **options: Any) -> set[str]:
    """Return the rules that a bundle of *files* breaks."""
    return {one.rule for one in bundle.verified(files, **options).findings}


Spoil = Callable[[Files], object]


def spoiled(
    what: str, rule: str | set[str], spoil: Spoil, *sentences: str, raw: bool = False
) -> None:
    """Enter a case in which *spoil* changes the files of a whole bundle."""

    def case(world: World, wrong: bool) -> set[str]:
        bundle = told(world)
        bundle.raw = raw
        files = bundle.files()
        if wrong:
            spoil(files)
        return found(bundle, files)

    case.__name__ = what
    breaks("evidence", *sentences, rule=rule)(case)


def early(
    what: str, rule: str | set[str], spoil: Spoil, *sentences: str, raw: bool = False
) -> None:
    """Enter a case in which *spoil* changes files that MANIFEST then agrees with."""

    def case(world: World, wrong: bool) -> set[str]:
        bundle = told(world)
        bundle.raw = raw

        def changed(files: Files) -> Files:
            spoil(files)
            return files

        if wrong:
            bundle.spoil = changed
        return found(bundle, bundle.files())

    case.__name__ = what
    breaks("evidence", *sentences, rule=rule)(case)


def added(name: str, data: bytes) -> Spoil:
    """Return what adds a file."""
    return lambda files: files.update({name: data})


def without(name: str) -> Spoil:
    """Return what takes a file away."""
    return lambda files: files.pop(name)


def edited(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    """Return what changes a file."""
    return lambda files: files.update({name: change(files[name])})


def swapped(data: bytes) -> bytes:
    """Return *data* with its first two lines exchanged."""
    first, second, *rest = data.splitlines(keepends=True)
    return b"".join([second, first, *rest])


def blob(files: Files) -> str:
    """Return the name of the blob."""
    return next(one for one in files if one.startswith("blobs/"))


def parted(
    what: str,
    rule: str | set[str],
    change: Callable[[Bundled], object],
    *sentences: str,
) -> None:
    """Enter a case of a bundle with other parts."""

    def case(world: World, wrong: bool) -> set[str]:
        bundle = told(world)
        if wrong:
            change(bundle)
        return found(bundle, bundle.files())

    case.__name__ = what
    breaks("evidence", *sentences, rule=rule)(case)
