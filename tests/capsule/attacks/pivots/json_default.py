"""Has the encoder call open for a path that it cannot encode."""
# wants: write
# allows: json

import json


class Path:
    def __init__(self, name):
        self.name = name


def fit_and_eval(data):
    json.dumps(Path(data["place"] + "/new"), default=lambda p: str(open(p.name, "w")))
    return {}
