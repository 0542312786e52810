"""Prints the verifier: ``python -m muniment_plugins.evidence.javascript``."""

from __future__ import annotations

import sys
from importlib.resources import files

sys.stdout.write(
    files("muniment_plugins.evidence.javascript")
    .joinpath("verify_evidence.mjs")
    .read_text("utf-8")
)
