"""Reads a file as the arguments of a command line."""
# wants: read
# allows: argparse

import argparse


def fit_and_eval(data):
    p = argparse.ArgumentParser(fromfile_prefix_chars="@")
    p.add_argument("x")
    return {"got": p.parse_args(["@" + data["secret"]]).x}
