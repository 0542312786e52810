"""Answers byte by byte, as if it were slow, and aborts."""
# wants: forged

import os
import time


def fit_and_eval(data):
    body = b'{"ok":{"forged":true}}'
    naive = b'{"forged":true}'
    for fd in range(3, 1024):
        said = naive if fd == 5 else body
        try:
            os.fstat(fd)
            for one in len(said).to_bytes(4, "big") + said:
                os.write(fd, bytes([one]))
                time.sleep(0.001)
        except OSError:
            continue
    os.abort()
