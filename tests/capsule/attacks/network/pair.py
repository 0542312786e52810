"""Makes a pair of sockets, over which descriptors can be passed."""
# wants: call

import socket


def fit_and_eval(data):
    return {"through": len(socket.socketpair())}
