"""Connects to a listener on this machine."""
# wants: network

import socket


def fit_and_eval(data):
    socket.create_connection(("127.0.0.1", data["port"])).close()
    return {}
