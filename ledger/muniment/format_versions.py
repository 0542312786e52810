"""The versions of the formats that a genesis states, and the rules that came with each.

    ledger.opened  data.formats  {"checkpoint":1,"event":4,"layout":1}

Rules:

- A ledger keeps the versions of its genesis for life; a new one states the newest.
- A rule that an honest writer of an earlier version could break names the version of
  ``event`` from which it holds, here and in ``docs/spec/event.md``. A verifier applies
  the version that the genesis states, or the newest if there is no genesis.
"""

from __future__ import annotations

__all__ = [
    "COUNTED_ENDS",
    "DECISIONS",
    "FINAL_ENDS",
    "FORMATS",
    "KERNEL_DATA",
    "OWN_PLACES",
    "RESERVED",
    "SERIES",
    "WAITS",
]

FORMATS = {"checkpoint": 1, "event": 4, "layout": 1}
"""The versions that a new ledger states."""

KERNEL_DATA = 2
"""From this version of ``event`` on, a verifier checks the data of kernel types."""

FINAL_ENDS = 2
"""From this version of ``event`` on, a run takes no further event after its end."""

COUNTED_ENDS = 2
"""From this version of ``event`` on, an end states its counts if it can."""

OWN_PLACES = 2
"""From this version of ``event`` on, no two facts or requests have the same place, no
part or outcome of an effect is outside an attempt at it, no event is in a scope below
an effect that was not requested, and events that may follow an end come after all
others in the scope ``""``."""

SERIES = 3
"""From this version of ``event`` on, an event may state its series; no event of an
earlier one does."""

WAITS = 3
"""From this version of ``event`` on, ``child`` and ``timer`` are kinds of the kernel, and
no plugin's kind has such a name."""

DECISIONS = 4
"""From this version of ``event`` on, runs ask people: ``decision.asked``, ``.given``,
``.reached`` and ``.refused`` are the kernel's, and a verifier judges every decision."""

RESERVED = 4
"""From this version of ``event`` on, no segment of a scope begins with ``$``, no event
about keys is in a run, and no two runs share a blob."""
