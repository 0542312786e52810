"""Has the cache of source lines ask whether a file changed."""
# wants: metadata

import linecache
import os


def fit_and_eval(data):
    linecache.checkcache(data["sized"])
    return {"got": os.stat(data["sized"], follow_symlinks=False).st_size}
