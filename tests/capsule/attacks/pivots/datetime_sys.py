"""Takes the interpreter's module from where the dates are written in Python."""
# wants: read
# allows: datetime

import datetime


def fit_and_eval(data):
    return {"got": datetime.sys.modules["io"].open(data["secret"]).read()}
