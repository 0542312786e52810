"""Reads a file through os, which a module keeps that a submodule imported."""
# wants: read
# allows: json

from json.tool import argparse as tool


def fit_and_eval(data):
    return {"got": tool._os.read(tool._os.open(data["secret"], 0), 99).decode()}
