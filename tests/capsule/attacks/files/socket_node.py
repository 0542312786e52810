"""Makes a socket with a name."""
# wants: write

import socket


def fit_and_eval(data):
    socket.socket(socket.AF_UNIX).bind(data["place"] + "/new")
    return {}
