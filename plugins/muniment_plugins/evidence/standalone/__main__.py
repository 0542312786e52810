"""Writes the standalone verifier as one file, to stdout."""

from __future__ import annotations

import sys

from muniment_plugins.evidence.standalone.one_file import one_file

if __name__ == "__main__":
    sys.stdout.buffer.write(one_file().encode())  # whatever the locale is
