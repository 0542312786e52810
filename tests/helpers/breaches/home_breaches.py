"""What breaks the sentences of ``trust-home.md``: files of a home, and other ledgers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from forge import Forge, keyid
from muniment.encoding.canonical import canonical
from muniment.keys.ed25519 import PrivateKey, load_private, save_private
from remembering import known, told
from worlds import World, breaks, refused

# --- files ----------------------------------------------------------------------------


def _file(
    what: str, rule: str, name: str, spoil: Callable[[Path], object], *sentences: str
) -> None:
    """Enter a case of a file of the home that *spoil* changes."""

    def case(world: World, wrong: bool) -> None:
        folder = known(world)
        if wrong:
            spoil(folder / name)

    case.__name__ = what
    breaks("trust-home", *sentences, rule=rule)(case)


def _as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _as_link(file: Path) -> None:
    kept = file.rename(file.with_name("kept"))
    file.symlink_to(kept)


def _emptied(file: Path) -> None:
    file.write_bytes(b"")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _torn(file: Path) -> None:
    file.write_bytes(b"torn" * 32)


def _malformed_first(file: Path) -> None:
    file.write_bytes(b"{}\n" + file.read_bytes())


_NO_FILE = "Anything else in the place of a file or a directory MUST be reported"
_TELL = "or empty, MUST report that it cannot tell"
_NOT_MISSING = "and MUST NOT go on as if the file were missing"
_ACKNOWLEDGED = "was never acknowledged: a reader MUST report that it cannot tell"
_file("a folder for a file", "trust/unreadable", "pins.json", _as_folder, _NO_FILE)
_file("a link for a file", "trust/unreadable", "anchors.jsonl", _as_link, _NO_FILE)
_file("empty pins", "trust/damaged", "pins.json", _emptied, _TELL, _NOT_MISSING)
_file("half a list of pins", "trust/damaged", "pins.json", _torn, _TELL)
_file(
    "a head that is neither whole nor empty",
    "head/damaged",
    "head",
    _torn,
    "every other file is damaged: a reader MUST report that it cannot tell",
)
_file("a line without its end", "trust/damaged", "anchors.jsonl", _cut, _ACKNOWLEDGED)
_file(
    "a malformed line before a good one",
    "trust/damaged",
    "anchors.jsonl",
    _malformed_first,
    "A reader MUST NOT skip a malformed line",
)


@breaks(
    "trust-home",
    "MUST refuse a home that its group or others can write to",
    rule="trust/permissions",
)
def a_home_that_a_group_can_write_to(world: World, wrong: bool) -> None:
    """Let others plant pins."""
    known(world)
    world.home.path.chmod(0o770 if wrong else 0o700)


@breaks("trust-home", "and MUST take a missing file to say nothing", rule={"unchecked"})
def a_head_that_is_not_there(world: World, wrong: bool) -> set[str]:
    """Remember nothing: that is no fault, and nothing to go by."""
    folder = known(world)
    if wrong:
        (folder / "head").unlink()
        (folder / "anchors.jsonl").unlink()
    return told(world)


# --- locations ------------------------------------------------------------------------


def _located(world: World, **ledgers: str) -> None:
    """Have the home know ledgers at places: the file itself, or through a link."""
    known(world)
    (world.folder / "link").symlink_to(world.folder)
    places = {
        "here": str(world.place),
        "linked": str(world.folder / "link" / world.place.name),
    }
    told = {places[name]: ledger for name, ledger in ledgers.items()}
    (world.home.path / "locations.json").write_bytes(canonical({**told}) + b"\n")
    world.write()


@breaks(
    "trust-home",
    "a reader MUST require the ledger that is known there",
    rule="ledger/foreign",
)
def another_ledger_through_a_link(world: World, wrong: bool) -> set[str]:
    """Come by a link, where the place that it leads to is known for another ledger."""
    other = Forge("two").open().ledger
    _located(world, here=other if wrong else world.forge.ledger)
    linked = world.folder / "link" / world.place.name
    world.place = linked
    return {one.rule for one in world.verified().findings}


@breaks(
    "trust-home",
    "and MUST report a place whose two locations are known for different ledgers",
    rule="head/foreign",
)
def two_ledgers_at_one_place(world: World, wrong: bool) -> None:
    """Know one ledger by the link, and another where it leads."""
    own, other = world.forge.ledger, Forge("two").open().ledger
    _located(world, here=other if wrong else own, linked=own)
    world.place = world.folder / "link" / world.place.name


@breaks(
    "trust-home",
    "A symbolic link in the place of the file itself MUST NOT be followed",
    rule="file/missing",
)
def a_link_for_a_ledger(world: World, wrong: bool) -> None:
    """Have a link in the place of the file."""
    known(world)
    kept = world.write().rename(world.folder / "kept.db")
    if wrong:
        world.place.symlink_to(kept)
    else:
        shutil.copy(kept, world.place)


@breaks(
    "trust-home",
    "at a known location MUST report it as wrong",
    rule={"key/pin", "ledger/foreign"},
)
def another_ledger_in_its_place(world: World, wrong: bool) -> None:
    """Replace the whole ledger by another one."""
    known(world)
    world.home.remember(world.place, world.forge.ledger)
    world.keys = [keyid(world.forge.key("root"))]
    (Forge("two").open() if wrong else world.forge).write(world.place)


@breaks(
    "trust-home", "at a known location MUST report it as wrong", rule="head/truncated"
)
def no_ledger_in_its_place(world: World, wrong: bool) -> None:
    """Take the whole ledger away."""
    known(world)
    world.home.remember(world.place, world.forge.ledger)
    if wrong:
        world.place = world.folder / world.place.name
        world.place.symlink_to("nowhere")
    world.write()


@breaks(
    "trust-home",
    "which MUST be a directory and no link",
    rule={"blob/file", "blob/missing"},
)
def a_link_for_the_large_blobs(world: World, wrong: bool) -> None:
    """Have the contents in files somewhere else, behind a link."""
    large = world.forge.blob(b"x" * 2_000, file=True)
    world.forge.append("note.added", {"text": "x", "details": large})
    folder = Path(f"{world.write()}.blobs")
    if wrong:
        folder.symlink_to(folder.rename(world.folder / "elsewhere"))


# --- keys -----------------------------------------------------------------------------


@breaks(
    "trust-home",
    "A program MUST refuse a private key with any permission for group or others",
    rule="key/permissions",
)
def a_key_that_others_can_read(world: World, wrong: bool) -> set[str]:
    """Let the group read a key."""
    file = world.folder / "writer.pem"
    save_private(file, PrivateKey.from_seed(bytes(32)))
    file.chmod(0o640 if wrong else 0o600)
    return refused(lambda: load_private(file))


@breaks("trust-home", "It MUST NOT overwrite a key file", rule="key/exists")
def a_key_in_the_place_of_a_key(world: World, wrong: bool) -> set[str]:
    """Save a key where one is."""
    file = world.folder / "writer.pem"
    if wrong:
        file.write_bytes(b"")
    return refused(lambda: save_private(file, PrivateKey.from_seed(bytes(32))))
