"""Opens a file through the private helpers of the package."""
# wants: read
# allows: pandas pandas.io.common

from pandas.io.common import get_handle


def fit_and_eval(data):
    return {"got": get_handle(data["secret"], "r").handle.read()}
