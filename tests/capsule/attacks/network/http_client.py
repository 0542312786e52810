"""Sends a request with a word in its path."""
# wants: network

import http.client


def fit_and_eval(data):
    c = http.client.HTTPConnection("127.0.0.1", data["port"], timeout=0.1)
    c.request("GET", "/word")
    return {}
