"""Takes the module of codecs from the package that imported it, to open a file."""
# wants: read
# allows: json

import json


def fit_and_eval(data):
    return {"got": json.codecs.open(data["secret"]).read()}
