"""A process that gets the signals of its process group, and says which it got.

    python -I -S bystander.py     any byte on stdin: the numbers of signals, a line feed

Rules: it starts with the signals blocked, so that they wait and do not end it. It
imports nothing of ours, and ends when nobody can ask it any more.
"""

import os
import signal

ASKED = {
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
}

if __name__ == "__main__":
    while os.read(0, 1):
        waiting = signal.sigpending() & ASKED
        for number in waiting:
            signal.sigwait({number})
        os.write(1, " ".join(str(int(one)) for one in waiting).encode() + b"\n")
