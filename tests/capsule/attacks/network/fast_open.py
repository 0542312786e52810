"""Sends the first bytes together with the request to connect."""
# wants: network

import socket


def fit_and_eval(data):
    s = socket.socket()
    s.sendto(b"x", 0x20000000, ("127.0.0.1", data["port"]))
    return {}
