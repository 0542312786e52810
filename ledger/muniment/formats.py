"""The versions of the formats: what a genesis states, and which rule holds from which.

    ledger.opened  data.formats  {"checkpoint":1,"event":2,"layout":1}

Rules:

- A ledger has the versions of its genesis for life; a new one states the newest.
- A rule that an honest writer of an earlier version could break names the version of
  ``event`` from which it holds, here and in ``docs/spec/event.md``. A verifier asks for
  the version that the genesis states, and takes the newest where there is no genesis.
"""

from __future__ import annotations

__all__ = ["COUNTED_ENDS", "FINAL_ENDS", "FORMATS", "KERNEL_DATA", "OWN_PLACES"]

FORMATS = {"checkpoint": 1, "event": 2, "layout": 1}
"""What a new ledger states."""

KERNEL_DATA = 2
"""From this version of ``event`` on, a verifier looks at the data of kernel types."""

FINAL_ENDS = 2
"""From this version of ``event`` on, a run takes no further event after its end."""

COUNTED_ENDS = 2
"""From this version of ``event`` on, an end that could state its counts states them."""

OWN_PLACES = 2
"""From this version of ``event`` on, no two facts or requests have one place, and
no part or outcome of an effect stands outside an attempt at it."""
