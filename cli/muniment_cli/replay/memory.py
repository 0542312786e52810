"""The memory limit of a replayed program.

    half_of_it()      12052       MiB: of the machine, or of the container around this
    hold(12052)       12052       from here on; 0 if that is impossible, as on macOS
    beyond(12052)     "memory beyond 12,052 MiB", which a program was denied

Rules: memory that Python and muniment have mapped already does not count; address space
does, whether it is used or only reserved. A program that asks for more gets a
`MemoryError`.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import CannotTellError, MunimentError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["beyond", "half_of_it", "hold", "is_lack", "named"]

_CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_MIB = 1 << 20
_ARENA = 2 * _MIB
"""An arena of Python's allocator, with what is mapped beside it (Objects/obmalloc.c)."""
_UNMAPPED = re.compile("failed to map|annot (allocate|map|create|make)")
"""What the dynamic linker says of a library for which there is no memory."""


def half_of_it() -> int:
    """Return half the memory of this machine, or of the container around it, in MiB."""
    if sys.platform != "linux":
        return 0
    most = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for place in _CONTAINER:
        try:
            told = place.read_text("utf-8").strip()
        except OSError:
            continue
        most += [int(told)] if told.isdigit() else []
    return min(most) // 2 // _MIB


def hold(mib: int) -> int:
    """Let this process take only *mib* more; return 0 if no limit can be set."""
    from muniment_plugins.capsule.isolation.limits import limit_memory

    return mib if mib and limit_memory(mib) is not None else 0


def beyond(mib: int) -> str:
    """Return the name of memory among the things that a program was denied."""
    return f"memory beyond {mib:,} MiB"


def named(error: Exception, mib: int, run: str) -> Exception:
    """Return *error*, or a better one if *mib* are too few even for replaying.

    Where memory lacks, Python may raise anything: its parser raises a `SyntaxError`. So an
    error of no known kind counts, too, once all memory was taken; it is named.
    """
    known = any(_is_of_memory(one) for one in _all_of(error))
    if not mib or not (known or (not isinstance(error, MunimentError) and _is_full())):
        return error
    what = "" if known else f" ({type(error).__name__}: {printable(error)})"
    return CannotTellError(
        f"{mib:,} MiB of memory are too little to replay it{what}",
        rule="replay/starved",
        place=f"run {run}",
        remedy="give it more with --memory MIB",
    )


def _is_full() -> bool:
    """Tell whether this process once held its limit, but for one of Python's arenas."""
    try:
        import resource  # no other system has it, or a limit

        status = Path("/proc/self/status").read_text("utf-8")
        peak = int(status.partition("VmPeak:")[2].split()[0]) << 10
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (OSError, MemoryError, ImportError, IndexError):
        return True
    return limit != resource.RLIM_INFINITY and limit - peak < _ARENA


def _all_of(error: BaseException) -> Iterator[BaseException]:
    """Yield *error*, and the errors that it came of."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def _is_of_memory(error: BaseException) -> bool:
    """Tell whether Python, the system, its linker or a thread lacked memory.

    A `SystemError` is the interpreter's own: it is what is left of a failed allocation in C.
    """
    said = str(error)
    return (
        isinstance(error, MemoryError | SystemError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, ImportError) and _UNMAPPED.search(said) is not None)
        or (isinstance(error, RuntimeError) and "start new thread" in said)
    )


def is_lack(error_type: object) -> bool:
    """Tell whether an error of this type, of any library, means a lack of memory."""
    return re.search(r"MemoryError$", str(error_type)) is not None
