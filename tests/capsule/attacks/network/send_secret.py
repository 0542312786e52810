"""Connects and sends what a file holds."""
# wants: read

import socket


def fit_and_eval(data):
    with socket.create_connection(("127.0.0.1", data["port"])) as s:
        s.sendall(open(data["secret"], "rb").read())
    return {}
