r"""Unified diffs as `patch` and `git apply` read them.

    --- a/notes.txt
    +++ b/notes.txt
    @@ -1,2 +1,2 @@
     one
    -two
    +2

Rules:

- Lines end at line feeds alone; a last line without one is marked as git marks it.
- A file name with characters that would break the header is quoted as git quotes it.
- Equal beginnings and ends are set aside first. Where what lies between is too large to
  be compared line by line in reasonable time, it is one change, which is a diff all the
  same.
- Texts that are equal have the empty diff.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

__all__ = ["unified_diff"]

_CONTEXT = 3
_MOST = 4_000_000
"""Pairs of lines that may be compared."""
_UNENDED = "\n\\ No newline at end of file\n"
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}

_Tag: TypeAlias = Literal["replace", "delete", "insert", "equal"]
_Code: TypeAlias = tuple[_Tag, int, int, int, int]


class _Compared(difflib.SequenceMatcher[str]):
    """A comparison whose steps are known, so that difflib groups them."""

    def __init__(self, codes: list[_Code]) -> None:
        super().__init__(None, (), ())
        self._codes = codes

    def get_opcodes(self) -> list[_Code]:
        return self._codes


def unified_diff(path: str, before: str, after: str) -> str:
    """Return the diff that turns *before* into *after*, for the file *path*."""
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    head = f"--- {_file(f'a/{path}')}\n+++ {_file(f'b/{path}')}\n"
    hunks = _Compared(_codes(old, new)).get_grouped_opcodes(_CONTEXT)
    return head + "".join(line for hunk in hunks for line in _hunk(hunk, old, new))


def _lines(text: str) -> list[str]:
    """Return the lines of *text*, each with its end; the last one marked if it has none."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last + _UNENDED] if last else lines


def _file(name: str) -> str:
    if any(char in _ESCAPES or not char.isprintable() for char in name):
        quoted = "".join(
            _ESCAPES.get(char)
            or (char if char >= " " and char != "\x7f" else f"\\{ord(char):03o}")
            for char in name
        )
        return f'"{quoted}"'
    return f"{name}\t" if " " in name else name


def _codes(old: Sequence[str], new: Sequence[str]) -> list[_Code]:
    """Return the steps from *old* to *new*, as difflib writes them."""
    least = min(len(old), len(new))
    head = next((n for n in range(least) if old[n] != new[n]), least)
    rest = least - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    old_end, new_end = len(old) - tail, len(new) - tail
    first: list[_Code] = [("equal", 0, head, 0, head)] if head else []
    middle: list[_Code] = [
        (tag, a + head, b + head, c + head, d + head)
        for tag, a, b, c, d in _between(old[head:old_end], new[head:new_end])
    ]
    last: list[_Code] = [("equal", old_end, len(old), new_end, len(new))]
    return [*first, *middle, *(last if tail else [])]


def _between(old: Sequence[str], new: Sequence[str]) -> Sequence[_Code]:
    if len(old) * len(new) > _MOST:
        return [("replace", 0, len(old), 0, len(new))]
    return difflib.SequenceMatcher(None, old, new).get_opcodes()


def _hunk(
    codes: Sequence[tuple[str, int, int, int, int]],
    old: Sequence[str],
    new: Sequence[str],
) -> Iterator[str]:
    first, last = codes[0], codes[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
    for tag, a, b, c, d in codes:
        if tag == "equal":
            yield from (f" {line}" for line in old[a:b])
        else:
            yield from (f"-{line}" for line in old[a:b])
            yield from (f"+{line}" for line in new[c:d])


def _range(start: int, end: int) -> str:
    """Return lines from *start* to before *end* as a hunk header has them."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
