"""Gives the machine another name."""
# wants: call
# needs: root

import socket


def fit_and_eval(data):
    socket.sethostname(socket.gethostname())
    return {"through": True}
