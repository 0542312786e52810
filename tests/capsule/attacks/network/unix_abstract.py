"""Connects to a socket that has a name in no file system."""
# wants: network

import socket


def fit_and_eval(data):
    socket.socket(socket.AF_UNIX).connect("\0" + data["abstract"])
    return {}
