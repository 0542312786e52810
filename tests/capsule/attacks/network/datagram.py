"""Sends a datagram, which needs no connection."""
# wants: network

import socket


def fit_and_eval(data):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"x", ("127.0.0.1", data["datagrams"]))
    return {}
