"""Opens a socket that sees every packet."""
# wants: call
# needs: root

import socket


def fit_and_eval(data):
    return {"through": socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno()}
