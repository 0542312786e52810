"""Asks a server for a page."""
# wants: network

import urllib.request


def fit_and_eval(data):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{data['port']}/", timeout=0.1)
    except OSError:
        return {}
