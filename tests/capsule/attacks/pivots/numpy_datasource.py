"""Opens a file with the class behind NumPy's text loaders."""
# wants: read
# allows: numpy numpy.lib.npyio

from numpy.lib import npyio


def fit_and_eval(data):
    return {"got": npyio.DataSource(None).open(data["secret"]).read()}
