"""Has a configuration name a class, which is then looked up and called."""
# wants: write
# allows: logging

import logging.config


def fit_and_eval(data):
    handler = {"()": "os.mkdir", "path": data["place"] + "/new"}
    logging.config.dictConfig({"version": 1, "filters": {"x": handler}})
    return {}
