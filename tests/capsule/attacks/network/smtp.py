"""Talks to a mail server."""
# wants: network

import smtplib


def fit_and_eval(data):
    try:
        smtplib.SMTP("127.0.0.1", data["port"], timeout=0.1)
    except OSError:
        return {}
