"""Makes a file longer without writing to it."""
# wants: write

import os


def fit_and_eval(data):
    os.posix_fallocate(os.open(data["victim"], os.O_RDWR), 0, 4096)
    return {}
