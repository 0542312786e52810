"""The output of `verify`: findings, and the report that judges them.

    integrity      intact | wrong | cannot tell
    authenticity   pinned | self-asserted | wrong | cannot tell
    completeness   checked | unchecked | wrong | cannot tell

Rules:

- A finding names a stable rule, the first bad seq it knows and the place. Kind
  ``unreadable`` means *cannot tell*; every other kind means *wrong*.
- Wrong outranks cannot tell, and cannot tell outranks everything that is merely
  unknown: exit 1, then 3, then 0.
- *Intact* needs more than the absence of findings: everything was compared that is
  there, or should be by signed events, checkpoints and memory (`counts`).
- At most 20 findings of one rule are kept (the earliest), so that one edited byte at
  the start of a long ledger does not drown the others; the rest are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

from muniment.errors import CannotTellError, MunimentError
from muniment.verification.counts import Count, lacking, left_out, said

__all__ = ["KINDS", "MALFORMED", "Finding", "Findings", "Report", "judge"]

KINDS = (
    "blob",
    "checkpoint",
    "edited",
    "foreign",
    "forked",
    "inserted",
    "key",
    "missing",
    "reordered",
    "rolled-back",
    "run",
    "schema",
    "series",
    "truncated",
    "unreadable",
)

MALFORMED = (
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What Python raises where signed data has another form than the reader expects."""

_KEPT_PER_RULE = 20
_SHOWN = 300
_COMPLETENESS = frozenset({"forked", "rolled-back", "truncated"})
_AUTHENTICITY = frozenset({"foreign"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or that could not be checked."""

    kind: str
    """One of `KINDS`."""
    rule: str
    """A stable name, such as ``event/leaf-hash``."""
    seq: int | None
    """The first event that it concerns, if there is one."""
    place: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return one line: ``place: message [rule]; remedy``."""
        where = f"{self.place}: " if self.place else ""
        what_to_do = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.message} [{self.rule}]{what_to_do}".replace("\n", " ")


class Findings:
    """Collects findings and remarks during one verification."""

    __slots__ = ("_counts", "_found", "notes")

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self.notes: list[str] = []

    def __len__(self) -> int:
        """Return how many findings there were, kept or not."""
        return self._counts.total()

    def add(
        self,
        kind: str,
        rule: str,
        message: str,
        *,
        seq: int | None = None,
        place: str = "",
        remedy: str = "",
    ) -> None:
        """Keep a finding; *place* is ``event SEQ`` if only *seq* is given."""
        self._counts[rule] += 1
        if self._counts[rule] <= _KEPT_PER_RULE:
            where = place or (f"event {seq}" if seq is not None else "")
            found = Finding(kind, rule, seq, _plain(where), _plain(message), remedy)
            self._found.append(found)

    def add_error(
        self, kind: str, error: MunimentError, seq: int | None = None, place: str = ""
    ) -> None:
        """Keep the error of a format module; *cannot tell* stays that."""
        self.add(
            "unreadable" if isinstance(error, CannotTellError) else kind,
            error.rule,
            error.message,
            seq=seq,
            place=place or error.place,
            remedy=error.remedy,
        )

    def has(self, rule: str, seq: int | None) -> bool:
        """Tell whether the event *seq* is known to break *rule*."""
        return any(one.rule == rule and one.seq == seq for one in self._found)

    def take(self, others: Findings) -> None:
        """Add the findings of *others* that are not known here."""
        for found in others.sorted():
            if found not in self._found:
                self._counts[found.rule] += 1
                self._found.append(found)

    def add_lacking(self, counts: tuple[Count, ...], place: str) -> None:
        """Report what could not be compared, if no finding says why."""
        short = lacking(counts)
        if short and not len(self):
            self.add(
                "unreadable",
                "verify/uncompared",
                f"{short} could not be compared",
                place=place,
                remedy="this is a fault of muniment, or of the file: trust neither",
            )

    def sorted(self) -> tuple[Finding, ...]:
        """Return the kept findings, the first bad event first."""
        self.notes.extend(
            f"{count - _KEPT_PER_RULE} more findings of {rule}"
            for rule, count in sorted(self._counts.items())
            if count > _KEPT_PER_RULE
        )
        end = 1 << 63
        return tuple(
            sorted(self._found, key=lambda one: end if one.seq is None else one.seq)
        )


def _plain(text: str) -> str:
    """Return *text* without characters that could control a terminal."""
    return _printable(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict over one ledger, as of one snapshot of its file."""

    ok: bool
    """Intact, by a pinned key, and without contradiction."""
    exit_code: int
    """0 holds, 1 wrong, 3 could not be checked."""
    integrity: str
    authenticity: str
    completeness: str
    findings: tuple[Finding, ...] = ()
    """Sorted: the first bad event first."""
    notes: tuple[str, ...] = ()
    """Remarks that change no verdict."""
    target: str = ""
    ledger: str | None = None
    """``sha256:<hex>`` of the genesis payload."""
    size: int = 0
    head: str | None = None
    """The leaf hash of the last event, 64 hex digits."""
    root: str | None = None
    """The root of the tree over all events, 64 hex digits."""
    counts: tuple[Count, ...] = ()
    """How many there are and were compared: rows, signatures, checkpoints, …"""
    events_checked: int = 0
    """How many rows were checked."""
    signatures_checked: int = 0
    erased: int = 0
    """How many blobs are gone because an event erased them."""
    open_runs: tuple[str, ...] = ()
    """Runs without a result: open, paused or interrupted; in the order of their starts."""
    incomplete: tuple[str, ...] = ()
    """What an evidence bundle should hold of other runs, and lacks: ``child run 01JE7…``."""
    marked: tuple[str, ...] = ()
    """The marks of the runs in a bundle: ``non_certifiable, event 9 of run 01JD3…``."""
    anchored: str = ""
    fast: bool = False
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return the verdict for people: the three answers, then the findings."""
        checked = f"{self.size} events, {self.signatures_checked} signatures checked"
        lines = [
            f"{self.target}: {checked}",
            f"integrity: {self.integrity_said}",
            f"authenticity: {self.authenticity}",
            f"completeness: {self.completeness}; {self.anchored}",
        ]
        lines += [f"incomplete: it lacks {one}" for one in self.incomplete]
        lines += [f"marked: {one}" for one in self.marked]
        if self.erased:
            lines.append(f"erased: {self.erased} blobs, by events that say so")
        if compared := self.compared_said:
            lines.append(f"compared: {compared}")
        lines += [f"unfinished run: {run}" for run in self.open_runs]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"{one.kind}: {one}" for one in self.findings]
        return "\n".join(map(_printable, lines))

    @property
    def integrity_said(self) -> str:
        """The integrity, and the checks left out on purpose."""
        without = left_out(self.counts)
        if self.integrity != "intact" or not without:
            return self.integrity
        return f"intact, but {without} unchecked"

    @property
    def compared_said(self) -> str:
        """How much was compared, in one line."""
        return said(self.counts)

    def to_json(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The words and the exit code that findings add up to."""

    integrity: str
    authenticity: str
    completeness: str
    exit_code: int
    ok: bool


def judge(
    findings: tuple[Finding, ...],
    *,
    looked: bool,
    pinned: bool,
    remembered: bool,
    trust_on_first_use: bool,
    require_complete: bool,
) -> Verdict:
    """Weigh *findings* by the table of ``docs/trust.md``; *looked*: at any event."""
    kinds = {finding.kind for finding in findings}
    wrong = kinds - {"unreadable"}
    lacking = "cannot tell" if "unreadable" in kinds or not looked else ""
    content = wrong - _COMPLETENESS - _AUTHENTICITY
    integrity = "wrong" if content else lacking or "intact"
    known = "pinned" if pinned else "self-asserted"
    authenticity = "wrong" if wrong & _AUTHENTICITY else lacking or known
    memory = "checked" if remembered else "unchecked"
    completeness = "wrong" if wrong & _COMPLETENESS else lacking or memory
    if wrong:
        exit_code = 1
    elif lacking or (require_complete and not remembered):
        exit_code = 3
    else:
        exit_code = 0 if pinned or trust_on_first_use else 3
    ok = not kinds and pinned
    return Verdict(integrity, authenticity, completeness, exit_code, ok)
