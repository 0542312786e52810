"""Has a path expanded, with a variable in it."""
# wants: environment
# allows: string

import os.path


def fit_and_eval(data):
    return {"got": os.path.expandvars("$STAGE_SECRET")}
