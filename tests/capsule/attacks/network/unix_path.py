"""Connects to a socket that lies in the file system."""
# wants: network

import socket


def fit_and_eval(data):
    socket.socket(socket.AF_UNIX).connect(data["socket"])
    return {}
