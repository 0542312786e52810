"""What breaks the sentences of ``evidence.md`` on what closes a bundle, and on its verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bundle_cases import (
    early,
    edited,
    found,
    parted,
    spoiled,
    told,
)
from forge import RUN
from forged_bundles import Bundled
from worlds import World, breaks

# --- the closing event ----------------------------------------------------------------


def _about(bundle: Bundled) -> None:
    bundle.about = lambda about: about[::-1]


def _closes(**data: str) -> Callable[[Bundled], object]:
    return lambda bundle: bundle.closing.update(data)


def _earlier(bundle: Bundled) -> None:
    bundle.chain["time"] = "2000-01-01T00:00:00.000000Z"


parted(
    "a closing event of an earlier time",
    "event/time",
    _earlier,
    "A verifier MUST judge it like all other events",
)
_STATES = "and MUST refuse one that states another run or another MANIFEST"
parted(
    "files in another order",
    "bundle/subject",
    _about,
    "Its subjects MUST be the files",
)
parted("another run that is closed", "bundle/closing", _closes(run="OTHER"), _STATES)
parted(
    "another manifest",
    "bundle/manifest",
    _closes(manifest="sha256:" + "0" * 64),
    _STATES,
)


spoiled(
    "another policy",
    {"bundle/digest", "bundle/trust-file"},
    edited("policy", lambda data: data + b"\n"),
    "A verifier MUST write them again and compare the bytes",
)
early(
    "another trusted root, that the closing event covers",
    "bundle/trust-file",
    edited("trusted_root.json", lambda data: data.replace(b"2020", b"2021")),
    "A verifier MUST write them again and compare the bytes",
)


@breaks(
    "evidence",
    "MUST refuse one whose number is not above theirs",
    rule={
        *("bundle/closing", "bundle/consistency", "bundle/manifest"),
        *("bundle/subject", "event/time"),
    },
)
def a_closing_event_before_the_last(world: World, wrong: bool) -> set[str]:
    """Close a run, and hand over what came later under the same closing event."""
    bundle = told(world)
    files = bundle.files()
    if wrong:
        world.forge.append(
            "bundle.closed", {"manifest": "sha256:" + "0" * 64, "run": RUN}
        )
        world.forge.enrol("third", ["writer"])
        kept = ("evidence.sigstore.json", "closing.checkpoint", "consistency")
        files = Bundled(world).files() | {name: files[name] for name in kept}
    return found(bundle, files)


# --- verifying ------------------------------------------------------------------------


@breaks(
    "evidence",
    "MUST NOT take a key that came with the bundle for a reason to trust it",
    rule="self-asserted",
)
def a_key_of_the_bundle(world: World, wrong: bool) -> set[str]:
    """Give the key that the bundle itself has."""
    bundle = told(world)
    files = bundle.files()
    key = world.folder / "ledger.pub"
    key.write_bytes(files["ledger.pub"])
    given: Any = [key] if wrong else world.keys
    return {bundle.verified(files, keys=given).authenticity} - {"pinned"}


@breaks(
    "evidence",
    "MUST name the file in each finding about one",
    rule={"policy", "MANIFEST"},
)
def a_file_that_is_named(world: World, wrong: bool) -> set[str]:
    """Change a file, and another."""
    bundle = told(world)
    bundle.raw = True
    files = bundle.files()
    if wrong:
        files["policy"] += b"\n"
        files["MANIFEST"] = b"x" + files["MANIFEST"]
    return {str(one.place) for one in bundle.verified(files).findings}


_KEPT = "MUST compare a checkpoint that its user kept"
_GIVEN = "and MUST NOT call the bundle intact if it was given such a checkpoint"


@breaks("evidence", _KEPT, rule="head/forked")
def another_history_that_was_kept(world: World, wrong: bool) -> set[str]:
    """Keep a note of the same size with another root."""
    bundle = told(world)
    files = bundle.files()
    anchor = world.folder / "anchor"
    size = len(world.forge.rows)
    anchor.write_bytes(
        world.forge.sign_note(size, bytes(32)) if wrong else world.forge.note()
    )
    return found(bundle, files, anchor=anchor)


@breaks("evidence", _GIVEN, rule="anchor/uncompared")
def a_note_of_another_size(world: World, wrong: bool) -> set[str]:
    """Keep a note of another size, with which nothing can be compared."""
    bundle = told(world)
    anchor = world.folder / "anchor"
    anchor.write_bytes(world.forge.note(3 if wrong else None))
    return found(bundle, bundle.files(), anchor=anchor)


@breaks(
    "evidence",
    "MUST call the completeness of the run *checked* only if its last event is an end",
    rule="unchecked",
)
def a_run_that_goes_on(world: World, wrong: bool) -> set[str]:
    """Bundle a run without an end."""
    world.start()
    world.note(run=RUN)
    if not wrong:
        world.forge.end_run(RUN)
    bundle = Bundled(world)
    return {bundle.verified(bundle.files()).completeness} - {"checked"}
