"""Sends a record of a log over the network."""
# wants: network

import logging.handlers


def fit_and_eval(data):
    h = logging.handlers.DatagramHandler("127.0.0.1", data["datagrams"])
    h.emit(logging.makeLogRecord({"msg": "x"}))
    return {}
