"""Answers by itself, and becomes a program that fails."""
# wants: forged

import os


def fit_and_eval(data):
    body = b'{"ok":{"forged":true}}'
    naive = b'{"forged":true}'
    for fd in range(3, 1024):
        said = naive if fd == 5 else body
        try:
            os.fstat(fd)
            os.write(fd, len(said).to_bytes(4, "big") + said)
        except OSError:
            continue
    os.execv("/bin/false", ["false"])
