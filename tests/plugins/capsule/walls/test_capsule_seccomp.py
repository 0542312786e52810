"""The filter says what its table says, on both architectures, instruction for instruction.

A few lines of the kernel's BPF run the filter here, so that one machine tests both.
"""

from __future__ import annotations

import errno
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.capsule.isolation import native, seccomp
from muniment_plugins.capsule.isolation.syscalls import (
    ARCHITECTURES,
    TABLE,
    answers,
    name_of,
)

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED = seccomp.ERRNO | errno.EPERM
OTHER = {"clone": (56, 220), "kill": (62, 129), "socket": (41, 198), "chmod": (90, 53)}

both = pytest.mark.parametrize("architecture", ARCHITECTURES)


def judge(program: bytes, number: int, audit: int, *arguments: int) -> int:
    """Run *program* on one call, as the kernel does; return its verdict."""
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, audit, 0, *padded)
    at, value = 0, 0
    while True:
        code, yes, no, operand = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
            continue
        tests = {0x15: value == operand, 0x35: value >= operand, 0x45: value & operand}
        at += yes if tests[code] else no


def answer(name: str, architecture: str, *arguments: int, opens: bool = True) -> int:
    """Return the verdict on the call *name*."""
    column = 1 + ARCHITECTURES.index(architecture)
    rows = {row[0]: row for row in map(str.split, TABLE.splitlines()) if row}
    number = int(rows[name][column])
    program = seccomp.program_filter(architecture, opens=opens)
    return judge(program, number, AUDIT[architecture], *arguments)


@both
def test_every_row_gets_its_answer(architecture: str) -> None:
    """What the table allows passes, what it traps is trapped."""
    program = seccomp.program_filter(architecture, opens=True)
    verdicts = {"allow": seccomp.ALLOW, "trap": seccomp.TRAP}
    for number, said in answers(architecture).items():
        verdict = judge(program, number, AUDIT[architecture])
        if said in verdicts:
            assert verdict == verdicts[said]
        elif said.startswith("E"):
            assert verdict == seccomp.ERRNO | getattr(errno, said)


@both
@given(number=st.integers(0, 2**30 - 1))
def test_every_other_call_is_refused(architecture: str, number: int) -> None:
    """A number that is not in the table gets EPERM, whatever it is."""
    if number not in answers(architecture):
        program = seccomp.program_filter(architecture, opens=True)
        assert judge(program, number, AUDIT[architecture]) == REFUSED


@both
@pytest.mark.parametrize("name", OTHER)
def test_what_must_never_pass_is_not_in_the_table(architecture: str, name: str) -> None:
    """Processes, signals, sockets and modes are refused by their number."""
    number = OTHER[name][ARCHITECTURES.index(architecture)]
    program = seccomp.program_filter(architecture, opens=True)
    assert judge(program, number, AUDIT[architecture]) == REFUSED


@both
@pytest.mark.parametrize("number", [0, 1, 59, 93, 221])
def test_calls_of_another_architecture_are_killed(
    architecture: str, number: int
) -> None:
    """The same number means something else there; x32 counts as another one."""
    program = seccomp.program_filter(architecture, opens=True)
    others = {*AUDIT.values(), 0x40000003, 0x40000028} - {AUDIT[architecture]}
    for audit in others:
        assert judge(program, number, audit) == seccomp.KILL
    if architecture == "x86_64":
        x32 = judge(program, 0x40000000 | number, AUDIT[architecture])
        assert x32 == seccomp.KILL


@both
@given(flags=st.integers(0, 2**32 - 1))
def test_files_open_for_reading_alone(architecture: str, flags: int) -> None:
    """Any flag that writes, creates or cuts is refused; closed, every flag is."""
    writing = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    verdict = answer("openat", architecture, 0, 0, flags)
    if flags & writing:
        assert verdict == REFUSED
    assert verdict in {seccomp.ALLOW, REFUSED}
    assert answer("openat", architecture, 0, 0, flags, opens=False) == REFUSED


@both
def test_ordinary_opens_pass(architecture: str) -> None:
    """What the interpreter and the loader open with is let through."""
    for flags in (0, 0o2000000, 0o2200000, 0o2240000):  # O_CLOEXEC, O_DIRECTORY
        assert answer("openat", architecture, 0, 0, flags) == seccomp.ALLOW


@both
def test_the_signal_of_forbidden_calls_keeps_its_handler(architecture: str) -> None:
    """A program may catch what it wants, but for SIGSYS."""
    for number in (1, 11, 30, 32, 64):
        assert answer("rt_sigaction", architecture, number, 1) == seccomp.ALLOW
    assert answer("rt_sigaction", architecture, 31, 1) == REFUSED


@both
def test_calls_have_their_names_back(architecture: str) -> None:
    """A number of the table is named; any other is told as it is."""
    for row in (line.split() for line in TABLE.splitlines() if line):
        number = row[1 + ARCHITECTURES.index(architecture)]
        if number != "-":
            assert name_of(architecture, int(number)) == row[0]
    assert name_of(architecture, 999) == "system call 999"
    assert name_of("", 59) == "system call 59"


@both
def test_limits_may_be_asked_for_not_set(architecture: str) -> None:
    """prlimit64 with a new limit, in either half of its address, is refused."""
    assert answer("prlimit64", architecture, 0, 7, 0, 1) == seccomp.ALLOW
    for pid, new in ((1, 0), (0, 1), (0, 1 << 32)):
        assert answer("prlimit64", architecture, pid, 7, new, 1) == REFUSED


@both
@pytest.mark.parametrize(
    ("command", "passes"),
    [
        (0, True),
        (1, True),
        (2, True),
        (3, True),
        (1030, True),
        (4, False),
        (8, False),
        (10, False),
        (1033, False),
    ],
)
def test_flags_of_the_open_file_stay(
    architecture: str, command: int, passes: bool
) -> None:
    """Fcntl passes for the descriptor; F_SETFL, F_SETOWN, F_SETSIG, seals do not."""
    verdict = answer("fcntl", architecture, 1, command)
    assert verdict == (seccomp.ALLOW if passes else REFUSED)


@both
def test_the_calls_of_the_child_itself_have_the_numbers_of_the_table(
    architecture: str,
) -> None:
    """What a child asks before it is locked in is what its program may not ask after."""
    own = {**native._NUMBERS[architecture], **native._EVERYWHERE}
    answered = answers(architecture)
    named = {name_of(architecture, number): number for number in answered}
    assert {name for name in own if own[name] in answered} == own.keys() & named.keys()
    for name, number in own.items():
        assert named.get(name, number) == number
        assert answered.get(number, "trap") == "trap"


def test_no_call_is_answered_twice() -> None:
    """Each call and each number stands in the table once, for both architectures."""
    rows = [line.split() for line in TABLE.splitlines() if line]
    assert all(len(row) == 2 + len(ARCHITECTURES) for row in rows)
    names = [row[0] for row in rows]
    assert len(set(names)) == len(names)
    for column, architecture in enumerate(ARCHITECTURES, start=1):
        numbers = [row[column] for row in rows if row[column] != "-"]
        assert len(set(numbers)) == len(numbers) == len(answers(architecture))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("opens", [False, True])
def test_filters_are_the_same_everywhere(architecture: str, opens: bool) -> None:
    """A filter's bytes follow from the table alone, and fit the kernel's bounds."""
    program = seccomp.program_filter(architecture, opens=opens)
    assert len(program) % 8 == 0
    assert len(program) // 8 <= 4096
    assert seccomp.digest(program).startswith("sha256:")
    others = {
        seccomp.program_filter(name, opens=state)
        for name in ARCHITECTURES
        for state in (False, True)
    }
    assert len(others) == 4
