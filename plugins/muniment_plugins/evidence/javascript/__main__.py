"""Prints the verifier: ``python -m muniment_plugins.evidence.javascript``."""

from __future__ import annotations

import sys

from muniment_plugins.evidence.javascript import program

if __name__ == "__main__":
    sys.stdout.buffer.write(program().encode())  # whatever the locale is
