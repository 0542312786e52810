"""Reaches the environment by the module that a module for paths imports."""
# wants: inside
# allows: posixpath

import posixpath


def fit_and_eval(data):
    return {"got": posixpath.os.environ["STAGE_INNER"]}
