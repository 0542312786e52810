"""Asks the kernel about its network interfaces."""
# wants: call

import socket


def fit_and_eval(data):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    return {"through": s.fileno()}
