"""Starts a connection without waiting for it."""
# wants: network

import _socket
import time


def fit_and_eval(data):
    s = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", data["port"]))
    time.sleep(0.05)
    return {}
