"""What others remember of a ledger: the trust home, given keys, given anchors.

Rules:

- All of it is read before the snapshot that it is compared with: events that a writer
  adds in between make the log longer than the memory, never shorter.
- Given keys replace the home's pins. Given anchors are held by somebody else
  ("independently"); those of the home, by the writer's own user.
- A note counts only if it is signed by a checkpoint key of the ledger that held the
  role at its size; the log says which keys those are, up to its end. Any other note is
  no evidence: it is reported, and if a key enrolled beyond the end may have signed it,
  completeness stays *unchecked*.
- Completeness is *checked* if the newest of each was matched; an older match alone says
  which ledger it is, not how long it was.
- Each pin is a key of the ledger, unless this is an older copy. A ledger is pinned if
  one of its roots is: the one that signed the genesis, or a later one, since that
  signed the hash of everything before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from muniment.errors import CannotTellError, MunimentError, WrongError
from muniment.formats.checkpoint import Checkpoint, Note, origin, read_vouched
from muniment.keys.keyring import Keyring
from muniment.trust.home import TrustHome
from muniment.verification.given import GIVE_ANCHOR, GivenKey, given_keyid, given_notes
from muniment.verification.report import Findings
from muniment.verification.tiles import RootMark

__all__ = ["GivenKey", "Memory", "is_pinned", "recall"]

_OWN = "the writer's own user"
_SEEN = "an earlier verification here"


@dataclass(slots=True)
class Memory:
    """What is known of the ledger that a file claims to be."""

    pins: frozenset[str] = frozenset()
    keys_given: bool = False
    marks: list[RootMark] = field(default_factory=list[RootMark])
    """The marks that count; before `settle`, those that may."""
    later: set[str] = field(default_factory=set[str])
    """The sources of notes that a key enrolled beyond the end may have signed."""

    @property
    def matched(self) -> bool:
        """Whether the log holds the newest head and the newest anchor of each source."""
        newest: dict[tuple[str, bool], RootMark] = {}
        for mark in self.marks:
            place = mark.source, mark.note is None
            if place not in newest or newest[place].size <= mark.size:
                newest[place] = mark
        return bool(newest) and all(mark.matched for mark in newest.values())

    def checked(self, size: int) -> bool:
        """Whether a log of *size* events ends where it is remembered to end."""
        ends = any(one.leaf and one.matched and one.size == size for one in self.marks)
        unknown = self.later - {_OWN} if ends else self.later
        return self.matched and not unknown

    @property
    def recognised(self) -> bool:
        """Whether the log matches anything remembered, however old."""
        return any(mark.matched for mark in self.marks)

    @property
    def longest(self) -> int:
        """The largest size that anybody remembers."""
        return max((mark.size for mark in self.marks), default=0)

    @property
    def demanded(self) -> int:
        """The largest size of a given anchor."""
        given = (one.size for one in self.marks if one.source not in (_OWN, _SEEN))
        return max(given, default=0)

    def settle(
        self, keyring: Keyring, ledger: str, size: int, findings: Findings
    ) -> None:
        """Drop the notes that do not count, and say why.

        Args:
            keyring: the keys at the end of the log.
            ledger: its id.
            size: its length.
            findings: gets a remark for each source; a finding for a given source if
                none of its notes count.

        """
        kept: list[RootMark] = []
        refused: dict[str, list[tuple[int, str]]] = {}
        for mark in self.marks:
            error = _fault(mark, keyring, ledger)
            if error is None:
                kept.append(mark)
                continue
            refused.setdefault(mark.source, []).append((mark.size, error.message))
            if error.rule == "checkpoint/unsigned" and mark.size > size:
                self.later.add(mark.source)
        self.marks = kept
        for source, faults in refused.items():
            self._say(source, faults, findings)

    def _say(
        self, source: str, faults: list[tuple[int, str]], findings: Findings
    ) -> None:
        size, why = max(faults)
        what = f"of {size} events does not count ({why})"
        if source != _OWN and all(mark.source != source for mark in self.marks):
            findings.add(
                "unreadable",
                "anchor/unsigned",
                f"the anchor {what}",
                place=source,
                remedy="ask whoever kept it, or for a copy that has all keys",
            )
        else:
            more = f"; nor do {len(faults) - 1} more" if len(faults) > 1 else ""
            findings.notes.append(f"an anchor by {source} {what}{more}")

    def anchored(self, size: int) -> str:
        """Say how far the log is confirmed, and by whom."""
        best: dict[str, int] = {}
        for mark in self.marks:
            if mark.matched:
                best[mark.source] = max(best.get(mark.source, 0), mark.size)
        said = [f"to {number} of {size}, {who(by)}" for by, number in best.items()]
        return "anchored " + "; ".join(said) if said else "not anchored"


def _fault(mark: RootMark, keyring: Keyring, ledger: str) -> WrongError | None:
    """Return why the note of *mark* does not count."""
    if mark.note is None or mark.vouched:
        return None
    try:
        read_vouched(mark.note, origin(ledger), keyring)
    except WrongError as error:
        return error
    return None


def who(source: str) -> str:
    """Name the party that vouches: the writer's own user, or somebody independent."""
    own = source in (_OWN, _SEEN)
    return f"by {source}" if own else f"independently by {source}"


def recall(
    home: TrustHome,
    ledger: str,
    keys: Iterable[GivenKey] | None,
    anchor: str | os.PathLike[str] | None,
    findings: Findings,
) -> Memory:
    """Gather what is remembered of *ledger*; unreadable memory becomes a finding."""
    memory = Memory(keys_given=keys is not None)
    try:
        if keys is None:
            memory.pins = home.pins(ledger)
        else:
            listed = [keys] if isinstance(keys, (str, os.PathLike)) else keys
            memory.pins = frozenset(given_keyid(key) for key in listed)
        head = home.head(ledger)
        if head is not None and head.size:
            memory.marks.append(RootMark(head.size, _OWN, leaf=head.hash))
        for note in home.anchors(ledger):
            _remember(memory, note, _OWN, ledger, findings)
        for one in home.seen().values():
            if one.ledger == ledger:
                memory.marks.append(RootMark(one.size, _SEEN, root=one.root))
        if anchor is not None:
            path = Path(anchor)
            for note in given_notes(path):
                _remember(memory, note, path.name, ledger, findings)
    except MunimentError as error:
        findings.add_error("unreadable", error)
    return memory


def _remember(
    memory: Memory, note: bytes, source: str, ledger: str, findings: Findings
) -> None:
    try:
        checkpoint = Checkpoint.parse(Note.parse(note).text)
    except WrongError as error:
        raise CannotTellError(
            f"an anchor is not a checkpoint ({error.message})",
            rule="anchor/format",
            place=source,
            remedy=GIVE_ANCHOR,
        ) from None
    if checkpoint.origin != origin(ledger):
        what = f"the anchor is of another ledger ({checkpoint.origin})"
        remedy = "give the anchor of this ledger, or the ledger of this anchor"
        if source == _OWN:
            findings.notes.append(f"{what}, and does not count")
        else:
            findings.add("foreign", "anchor/origin", what, place=source, remedy=remedy)
    elif not checkpoint.size:
        raise CannotTellError(
            "an anchor is of no events, and every log agrees with it",
            rule="anchor/format",
            place=source,
            remedy=GIVE_ANCHOR,
        )
    else:
        memory.marks.append(RootMark(checkpoint.size, source, note=note))


def is_pinned(
    memory: Memory, keyring: Keyring, findings: Findings, *, older: bool
) -> bool:
    """Tell whether the keys of the log are the accepted ones.

    Args:
        memory: has the accepted keys.
        keyring: the keys of the log.
        findings: gets a finding for pins that the log does not have.
        older: this is a copy that ends before what the trust home remembers; pins may
            be keys that were enrolled beyond its end.

    """
    if not memory.pins:
        return False
    lacking = memory.pins - {entry.keyid for entry in keyring.entries}
    if lacking and older and not memory.keys_given and lacking < memory.pins:
        findings.notes.append(f"{min(lacking)} is pinned, and not yet in this copy")
    elif lacking:
        findings.add(
            "foreign",
            "key/pin",
            _lacking(sorted(lacking), memory),
            place="keys",
            remedy="this is another ledger, or a history rebuilt under other keys",
        )
        return False
    roots = {entry.keyid for entry in keyring.entries if "root" in entry.roles}
    return bool(roots & memory.pins)


def _lacking(lacking: list[str], memory: Memory) -> str:
    given = "given" if memory.keys_given else "pinned"
    if len(lacking) == len(memory.pins):
        return f"none of the {given} keys {'is' if memory.keys_given else 'are'} a key of this ledger"
    return f"the {given} key {lacking[0]} is not a key of this ledger"
