"""Hides an import of os behind the one of annotations from the future."""
# wants: read

from __future__ import annotations

import os.path as annotations


def fit_and_eval(data):
    with annotations.genericpath.os.fdopen(annotations.os.open(data["secret"], 0)) as f:
        return {"got": f.read()}
