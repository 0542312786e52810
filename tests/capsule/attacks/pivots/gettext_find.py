"""Reads a file as a catalogue of messages; the error tells what it began with."""
# wants: read
# allows: gettext tokenize

import tokenize


def fit_and_eval(data):
    return {"got": tokenize.open(data["secret"]).read()}
