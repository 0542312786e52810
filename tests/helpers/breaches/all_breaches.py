"""Every case, from all modules that enter some."""

from __future__ import annotations

import bundle_breaches  # noqa: F401 - it enters its cases
import checkpoint_breaches  # noqa: F401 - it enters its cases
import closing_breaches  # noqa: F401 - it enters its cases
import event_breaches  # noqa: F401 - it enters its cases
import home_breaches  # noqa: F401 - it enters its cases
import memory_breaches  # noqa: F401 - it enters its cases
import p256_breaches  # noqa: F401 - it enters its cases
import proof_breaches  # noqa: F401 - it enters its cases
import series_breaches  # noqa: F401 - it enters its cases
from worlds import BREACHES

__all__ = ["BREACHES"]
