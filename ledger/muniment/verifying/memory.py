"""What others know of a ledger: the trust home, given keys, given anchors.

Rules:

- All of it is read before the snapshot that it is compared with: what a writer adds in
  between makes the log longer than the memory, never shorter.
- Given keys take the place of the home's pins. Given anchors are held by somebody else
  ("independently"); those of the home, by the writer's own user.
- A note counts only where a checkpoint key of the ledger signed it that held the role at
  its size; as far as the log goes it says which those are. Any other note is no evidence
  for anything: it is named, and where a key that was enrolled beyond the end may have
  signed it, completeness stays *unchecked*.
- Completeness is *checked* where the newest of each was matched; an older match alone
  says which ledger it is, not how long it was.
- Each pin is a key of the ledger, unless this is an older copy. A ledger is pinned
  where a root of it is: the one that signed the genesis, or a later one, since that
  signed the hash of all that came before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from muniment.checkpoint import Checkpoint, Note, origin, read_vouched
from muniment.errors import CannotTellError, MunimentError, WrongError
from muniment.keyring import Keyring
from muniment.trust import TrustHome
from muniment.verifying.given import GIVE_ANCHOR, GivenKey, given_keyid, given_notes
from muniment.verifying.report import Findings
from muniment.verifying.tree import Mark

__all__ = ["GivenKey", "Memory", "is_pinned", "recall"]

_OWN = "the writer's own user"
_SEEN = "an earlier verification here"


@dataclass(slots=True)
class Memory:
    """What is known of the ledger that a file claims to be."""

    pins: frozenset[str] = frozenset()
    keys_given: bool = False
    marks: list[Mark] = field(default_factory=list[Mark])
    """What counts; before `settle`, what may count."""
    later: set[str] = field(default_factory=set[str])
    """Who has notes that a key may have signed which was enrolled beyond the end."""

    @property
    def matched(self) -> bool:
        """Whether the log holds the newest head and the newest anchor of each source."""
        newest: dict[tuple[str, bool], Mark] = {}
        for mark in self.marks:
            place = mark.source, mark.note is None
            if place not in newest or newest[place].size <= mark.size:
                newest[place] = mark
        return bool(newest) and all(mark.matched for mark in newest.values())

    def checked(self, size: int) -> bool:
        """Whether the end of a log of *size* events is where it was remembered."""
        ends = any(one.leaf and one.matched and one.size == size for one in self.marks)
        unknown = self.later - {_OWN} if ends else self.later
        return self.matched and not unknown

    @property
    def recognised(self) -> bool:
        """Whether the log holds anything of what is remembered, however old."""
        return any(mark.matched for mark in self.marks)

    @property
    def longest(self) -> int:
        """The greatest size that anybody remembers."""
        return max((mark.size for mark in self.marks), default=0)

    @property
    def demanded(self) -> int:
        """The greatest size of an anchor that was given."""
        given = (one.size for one in self.marks if one.source not in (_OWN, _SEEN))
        return max(given, default=0)

    def settle(
        self, keyring: Keyring, ledger: str, size: int, findings: Findings
    ) -> None:
        """Leave out the notes that do not count, and say why they do not.

        Args:
            keyring: the keys at the end of the log.
            ledger: its id.
            size: its length.
            findings: gets a remark for each source; a finding where nothing counts of
                what was given.

        """
        kept: list[Mark] = []
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


def _fault(mark: Mark, keyring: Keyring, ledger: str) -> WrongError | None:
    """Return why the note of *mark* does not count."""
    if mark.note is None:
        return None
    try:
        read_vouched(mark.note, origin(ledger), keyring)
    except WrongError as error:
        return error
    return None


def who(source: str) -> str:
    """Say who vouches: the writer's own user, or somebody independent."""
    own = source in (_OWN, _SEEN)
    return f"by {source}" if own else f"independently by {source}"


def recall(
    home: TrustHome,
    ledger: str,
    keys: Iterable[GivenKey] | None,
    anchor: str | os.PathLike[str] | None,
    findings: Findings,
) -> Memory:
    """Gather what is known of *ledger*; what cannot be read becomes a finding."""
    memory = Memory(keys_given=keys is not None)
    try:
        if keys is None:
            memory.pins = home.pins(ledger)
        else:
            listed = [keys] if isinstance(keys, (str, os.PathLike)) else keys
            memory.pins = frozenset(given_keyid(key) for key in listed)
        head = home.head(ledger)
        if head is not None and head.size:
            memory.marks.append(Mark(head.size, _OWN, leaf=head.hash))
        for note in home.anchors(ledger):
            _remember(memory, note, _OWN, ledger, findings)
        for one in home.seen().values():
            if one.ledger == ledger:
                memory.marks.append(Mark(one.size, _SEEN, root=one.root))
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
    elif checkpoint.size:
        memory.marks.append(Mark(checkpoint.size, source, note=note))


def is_pinned(
    memory: Memory, keyring: Keyring, findings: Findings, *, older: bool
) -> bool:
    """Tell whether the keys of the log are those that were accepted.

    Args:
        memory: says which were accepted.
        keyring: the keys of the log.
        findings: gets a finding for pins that the log does not have.
        older: this is a copy that ends before what the trust home remembers; its pins
            may be keys that were enrolled beyond its end.

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
