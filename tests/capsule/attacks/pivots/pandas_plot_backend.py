"""Imports a module by its name, which a table takes for a plotting library."""
# wants: read
# allows: pandas

import pandas as pd
import sys


def fit_and_eval(data):
    sys.path.insert(0, data["place"])
    try:
        pd.DataFrame({"a": [1]}).plot(backend="module")
    except ValueError:
        return {"got": sys.modules["module"].secret}
