"""What breaks the sentences of ``evidence.md`` on the files, events and proofs of a bundle."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from bundle_cases import (
    added,
    blob,
    early,
    edited,
    found,
    parted,
    spoiled,
    swapped,
    told,
    without,
)
from forge import RUN, Row, make_key
from forged_bundles import Bundled
from muniment import verify_bundle
from worlds import World, breaks

# --- files ----------------------------------------------------------------------------

_HAS = "It MUST have these files, and no other"
spoiled("a file that is missing", "bundle/missing", without("consistency"), _HAS)
spoiled("a file that no bundle has", "bundle/member", added("README", b"x"), _HAS)
early(
    "a view in a raw bundle",
    "bundle/missing",
    added("bundle.json", b"[]\n"),
    _HAS,
    raw=True,
)
spoiled(
    "a line of another form",
    "bundle/manifest",
    edited("MANIFEST", lambda data: data.replace(b"  ", b" ", 1)),
    "Each line MUST be the 64",
    raw=True,
)
spoiled(
    "lines in another order",
    "bundle/manifest",
    edited("MANIFEST", swapped),
    "The lines MUST be in the order of the names",
    raw=True,
)


@breaks(
    "evidence",
    "A file in a directory MUST be a regular file",
    rule={"bundle/member", "bundle/missing"},
)
def a_link_for_a_file(world: World, wrong: bool) -> set[str]:
    """Have a link in the place of a file that nothing else follows from."""
    bundle = told(world)
    bundle.verified(bundle.files())
    folder = world.folder / "bundle"
    if wrong:
        (folder / "policy").rename(world.folder / "policy")
        (folder / "policy").symlink_to(world.folder / "policy")
    report = verify_bundle(folder, keys=world.keys, home=world.folder / "nobody")
    return {one.rule for one in report.findings}


@breaks("evidence", "A zip file MUST be exactly", rule="zip/directory")
def a_zip_with_a_comment(world: World, wrong: bool) -> set[str]:
    """Add a comment, which no member has."""
    files = told(world).files()
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name in sorted(files):
            one = zipfile.ZipInfo(name)
            one.create_system, one.external_attr = 3, 0o100644 << 16
            made.writestr(one, files[name])
        made.comment = b"x" if wrong else b""
    file = world.folder / "bundle.zip"
    file.write_bytes(data.getvalue())
    report = verify_bundle(file, keys=world.keys, home=world.folder / "nobody")
    return {one.rule for one in report.findings}


# --- events ---------------------------------------------------------------------------


def _with(which: Callable[[Row], bool]) -> Callable[[Bundled], object]:
    def change(bundle: Bundled) -> None:
        own = bundle.chosen()
        bundle.rows = [
            row for row in bundle.world.forge.rows if row in own or which(row)
        ]

    return change


def _moved(bundle: Bundled) -> None:
    rows = bundle.chosen()
    rows[-2:] = [rows[-1], rows[-2]]
    bundle.rows = rows


_OF = "The events MUST be, in the order of the log"
_STRANGER = "and MUST refuse an event that belongs to none of the above"
parted(
    "events in another order",
    {"event/seq", "event/time", "run/counts", "run/root"},
    _moved,
    _OF,
)
parted(
    "an event of another run",
    "bundle/stranger",
    _with(lambda row: row.run == "OTHER"),
    _STRANGER,
)
parted(
    "an event of no run",
    "bundle/stranger",
    _with(lambda row: row.type == "note.added" and row.run is None),
    _STRANGER,
)


@breaks(
    "evidence", "A verifier MUST judge each as a row of the ledger", rule="event/data"
)
def data_of_another_type(world: World, wrong: bool) -> set[str]:
    """Have an event of the run whose data no writer would have accepted."""
    world.start()
    world.forge.append("note.added", {"text": 7 if wrong else "7"}, run=RUN)
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    return found(bundle, bundle.files())


@breaks(
    "evidence",
    "the later one MUST name the leaf hash of the earlier",
    rule="event/prev",
)
def neighbours_that_do_not_follow(world: World, wrong: bool) -> set[str]:
    """Name another event before, in an event that follows its neighbour."""
    world.start()
    more: dict[str, Any] = {"prev": "ab" * 32} if wrong else {}
    world.note(run=RUN, **more)
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    return found(bundle, bundle.files())


@breaks(
    "evidence",
    "It MUST take the keys from the events alone",
    rule={"bundle/view", "key/unknown", "run/counts", "run/root"},
)
def a_key_that_no_event_enrols(world: World, wrong: bool) -> set[str]:
    """Sign the run by a stranger whose public key comes with the bundle."""
    world.start()
    world.note(run=RUN, signer=make_key("stranger") if wrong else None)
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    return found(bundle, bundle.files())


# --- blobs ----------------------------------------------------------------------------

early(
    "a blob that is missing",
    "blob/missing",
    lambda files: files.pop(blob(files)),
    "Each blob that an event refers to MUST be there",
)
early(
    "a blob of another size",
    "blob/size",
    lambda files: files.update({blob(files): files[blob(files)] + b"x"}),
    "Each blob that an event refers to MUST be there",
)


@breaks("evidence", "names it; then it MUST NOT be there", rule="blob/erased")
def a_blob_that_was_erased(world: World, wrong: bool) -> set[str]:
    """Hand on what a later event of the bundle erased."""
    bundle = told(world)
    digest, seq, kept = world.forge.blobs[-1]
    erased = {"blobs": [f"sha256:{digest.hex()}"], "reason": "x"}
    world.forge.append("blob.erased", erased)
    world.forge.blobs[-1] = (digest, seq, kept if wrong else None)
    return found(bundle, bundle.files())


@breaks(
    "evidence",
    "A blob to which no event refers MUST NOT be there",
    rule="blob/unreferenced",
)
def a_blob_more(world: World, wrong: bool) -> set[str]:
    """Hand over a content that nothing speaks of."""
    bundle = told(world)
    if wrong:
        world.forge.blob(b'"more"')
    return found(bundle, bundle.files())


# --- proofs ---------------------------------------------------------------------------

_LINE = "of `proofs.jsonl` MUST be the canonical JSON"
spoiled(
    "a member more in a proof",
    "bundle/proof",
    edited("proofs.jsonl", lambda data: data.replace(b',"seq":0}', b',"seq":0,"x":1}')),
    _LINE,
)
spoiled(
    "a proof of another event",
    "bundle/inclusion",
    edited("proofs.jsonl", swapped),
    _LINE,
)
_WITNESS = "— witness.example ".encode() + b"AQEB" * 24 + b"\n"
_HEADS = "Both checkpoints MUST have one signature line"
spoiled(
    "a witness below the checkpoint",
    "bundle/checkpoint",
    edited("checkpoint", lambda data: data + _WITNESS),
    _HEADS,
    raw=True,
)
spoiled(
    "a witness below the closing checkpoint",
    "bundle/checkpoint",
    edited("closing.checkpoint", lambda data: data + _WITNESS),
    _HEADS,
)


def _hash_less(data: bytes) -> bytes:
    first, _, rest = data.split(b"\n", 2)
    return first + b"\n" + rest


spoiled(
    "a way that leads nowhere",
    "bundle/consistency",
    edited("consistency", _hash_less),
    "A verifier MUST check that it leads from the one to the other",
)
