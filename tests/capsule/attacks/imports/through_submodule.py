"""Reads a file through os, which the submodule of an allowed package imported."""
# wants: read
# allows: json

from json.tool import Path


def fit_and_eval(data):
    return {"got": Path(data["secret"]).read_text()}
