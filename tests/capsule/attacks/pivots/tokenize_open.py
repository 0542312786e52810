"""Reads a file by the function that opens source text in the right encoding."""
# wants: read
# allows: tokenize

import tokenize


def fit_and_eval(data):
    return {"got": tokenize.open(data["secret"]).read()}
