"""Connects to the old address inside of a new one."""
# wants: network

import socket


def fit_and_eval(data):
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.connect(("::ffff:127.0.0.1", data["port"]))
    return {}
