"""Answers by one call with many parts, and aborts."""
# wants: forged

import os


def fit_and_eval(data):
    body = b'{"ok":{"forged":true}}'
    naive = b'{"forged":true}'
    for fd in range(3, 1024):
        said = naive if fd == 5 else body
        try:
            os.fstat(fd)
            os.writev(fd, [len(said).to_bytes(4, "big"), said[:3], said[3:]])
        except OSError:
            continue
    os.abort()
