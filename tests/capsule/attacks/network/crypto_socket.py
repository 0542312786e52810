"""Opens the kernel's own cryptography, which has had holes."""
# wants: call

import socket


def fit_and_eval(data):
    return {"through": socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15).fileno()}
