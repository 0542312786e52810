"""Reads a table from an address on the network."""
# wants: network
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    try:
        pd.read_html(f"http://127.0.0.1:{data['port']}/x")
    except (ImportError, OSError):
        pd.read_csv(f"ftp://127.0.0.1:{data['port']}/x")
