"""Reads a file by mapping it into memory."""
# wants: read

import mmap
import os


def fit_and_eval(data):
    fd = os.open(data["secret"], os.O_RDONLY)
    return {"got": mmap.mmap(fd, 0, prot=mmap.PROT_READ)[:].decode()}
