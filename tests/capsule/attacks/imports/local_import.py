"""Writes a file with an import that hides inside the entrypoint."""
# wants: write
# allows: math

import math


def fit_and_eval(data):
    from pathlib import Path

    Path(data["place"], "new").write_text(str(math.pi))
    return {}
