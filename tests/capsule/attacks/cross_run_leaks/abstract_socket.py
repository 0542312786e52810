"""Keeps a name that needs no file, for the next program to find."""
# wants: leak

import socket


kept = []


def fit_and_eval(data):
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0left-behind")
    s.listen()
    import builtins

    builtins.kept_socket = s
    return {}


def check(data):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect("\0left-behind")
    except OSError:
        return {}
    return {"left": True}
