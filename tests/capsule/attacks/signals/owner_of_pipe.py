"""Names another process as the one that a pipe's signals go to, and causes one."""
# wants: signal
# waits: 0.05

import fcntl
import os
import signal


def fit_and_eval(data):
    import socket

    a, b = socket.socketpair()
    fcntl.fcntl(a, fcntl.F_SETOWN, data["pid"])
    fcntl.fcntl(a, 10, signal.SIGKILL)
    fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    b.send(b"x")
    return {}
