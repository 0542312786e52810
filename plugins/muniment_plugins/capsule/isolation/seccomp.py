"""The system call filter, made from the table in `syscalls`, for the kernel's BPF.

    ld [4]; jeq AUDIT_ARCH, 1, 0; ret KILL; ld [0]; jge 128, 93, 0; …; ret ALLOW; …

Rules:

- A filter is written for one architecture and kills calls that come through another
  one: 32-bit calls and x32 have numbers of their own.
- ``openat`` passes only for reading, and not at all in the *closed* filter, which is
  for machines without Landlock to restrict the files.
- ``fcntl`` passes if it concerns only the descriptor: flags of the open file are shared
  with the parent, and setting an owner of signals is a way to send them.
- ``prlimit64`` passes for asking about this process.
- In a replay ``clone`` makes only threads, ``socketpair`` streams between them,
  ``ioctl`` concerns only the descriptor, and ``fcntl`` may lock a file too.
- ``rt_sigaction`` passes for every signal except SIGSYS, whose handler names forbidden
  calls; if it is blocked, SIGSYS kills.

Only the parent makes filters: the child gets the bytes, the execution their digest. See
seccomp(2), and ``linux/filter.h`` for the instructions.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import struct
from collections.abc import Mapping

from muniment_plugins.capsule.isolation import replay_syscalls
from muniment_plugins.capsule.isolation.syscalls import answers

__all__ = ["assemble", "digest", "program_filter", "replay_filter"]

ALLOW = 0x7FFF0000
ERRNO = 0x00050000
KILL = 0x80000000  # the process, not only the thread
TRAP = 0x00030000  # a signal instead of the call
REFUSE = ERRNO | errno.EPERM

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

_WRITING = (
    0o3  # O_WRONLY, O_RDWR
    | 0o100  # O_CREAT
    | 0o1000  # O_TRUNC
    | 0o2000  # O_APPEND
    | 0o20000  # O_ASYNC
    | 0o10000000  # O_PATH
    | 0o20000000  # O_TMPFILE
)
_FARTHEST = 255
_SIGSYS = 31
_DESCRIPTOR_COMMANDS = (0, 1, 2, 3, 1030)  # F_DUPFD, GETFD, SETFD, GETFL, DUPFD_CLOEXEC

_LOCK_COMMANDS = (4, 5, 6, 7, 36, 37, 38, 1032)  # F_SETFL, F_GETLK to F_OFD_SETLKW
_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_THREAD = 0x10000  # CLONE_THREAD
_UNIX = 1
_STREAMS = (1, 1 | 0o4000, 1 | 0o2000000, 1 | 0o2004000)

_Code = list[tuple[int, int, int, int]]


@functools.cache
def program_filter(architecture: str, *, opens: bool) -> bytes:
    """Return the filter of programs; *opens* says whether files may be read."""
    rules = answers(architecture)
    if not opens:
        rules = {nr: answer for nr, answer in rules.items() if answer != "reading"}
    return assemble(architecture, rules, REFUSE)


@functools.cache
def replay_filter(architecture: str, *, opens: bool) -> bytes:
    """Return the filter of replays; *opens* says whether Landlock restricts files."""
    return assemble(architecture, replay_syscalls.answers(architecture, opens), REFUSE)


def digest(program: bytes) -> str:
    """Return the digest by which executions name a filter."""
    return f"sha256:{hashlib.sha256(program).hexdigest()}"


def assemble(architecture: str, rules: Mapping[int, str], default: int) -> bytes:
    """Return the instructions that give each call of *rules* its answer."""
    code: _Code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT[architecture]),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if architecture == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, KILL)]
    code += _search(_ranges(rules, [(_RETURN, 0, 0, default)]))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _ranges(rules: Mapping[int, str], default: _Code) -> list[tuple[int, _Code]]:
    """Return the first number of each run of equal answers, from 0, and its answer."""
    ranges = [(0, default)]
    for number in sorted({edge for nr in rules for edge in (nr, nr + 1)}):
        code = _answer(rules[number]) if number in rules else default
        if code != ranges[-1][1]:
            ranges.append((number, code))
    return ranges


def _search(ranges: list[tuple[int, _Code]]) -> _Code:
    """Return the instructions that find a number's range by binary search.

    When a filter is loaded, the kernel evaluates it for every existing call.
    """
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    if len(below) > _FARTHEST:
        raise AssertionError("a jump passes 255 instructions at most")
    return [(_AT_LEAST, len(below), 0, ranges[middle][0]), *below, *above]


def _answer(answer: str) -> _Code:
    if answer in _CONDITIONS:
        return _CONDITIONS[answer]
    fixed = {"allow": ALLOW, "trap": TRAP}.get(answer)
    return [(_RETURN, 0, 0, ERRNO | getattr(errno, answer) if fixed is None else fixed)]


def _argument(index: int, *, high: bool = False) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index + 4 * high)


def _reading() -> _Code:
    return [
        _argument(2),
        (_ANY_BIT, 0, 1, _WRITING),
        (_RETURN, 0, 0, REFUSE),
        (_RETURN, 0, 0, ALLOW),
    ]


def _flags() -> _Code:
    code = [_argument(1)]
    for command in _DESCRIPTOR_COMMANDS:
        code += [(_EQUAL, 0, 1, command), (_RETURN, 0, 0, ALLOW)]
    return [*code, (_RETURN, 0, 0, REFUSE)]


def _one_of(index: int, values: tuple[int, ...], otherwise: int) -> _Code:
    code = [_argument(index)]
    for value in values:
        code += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, ALLOW)]
    return [*code, (_RETURN, 0, 0, otherwise)]


def _threads() -> _Code:
    return [
        _argument(0),
        (_ANY_BIT, 1, 0, _THREAD),
        (_RETURN, 0, 0, REFUSE),
        (_RETURN, 0, 0, ALLOW),
    ]


def _pairs() -> _Code:
    """Allow only UNIX streams: messages on others may name somebody else's socket."""
    return [
        _argument(0),
        (_EQUAL, 1, 0, _UNIX),
        (_RETURN, 0, 0, REFUSE),
        *_one_of(1, _STREAMS, REFUSE),
    ]


def _query() -> _Code:
    code: _Code = []
    for load in (_argument(0), _argument(2), _argument(2, high=True)):
        code += [load, (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, REFUSE)]
    return [*code, (_RETURN, 0, 0, ALLOW)]


def _signals() -> _Code:
    return [
        _argument(0),
        (_EQUAL, 0, 1, _SIGSYS),
        (_RETURN, 0, 0, REFUSE),
        (_RETURN, 0, 0, ALLOW),
    ]


_CONDITIONS = {
    "descriptor": _one_of(1, _REQUESTS, ERRNO | errno.ENOTTY),
    "flags": _flags(),
    "locks": _one_of(1, (*_DESCRIPTOR_COMMANDS, *_LOCK_COMMANDS), REFUSE),
    "pairs": _pairs(),
    "query": _query(),
    "reading": _reading(),
    "signals": _signals(),
    "threads": _threads(),
}
