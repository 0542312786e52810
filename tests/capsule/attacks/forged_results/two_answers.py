"""Lets itself be answered twice, and hopes that the second counts."""
# wants: forged

import os


def fit_and_eval(data):
    body = b'{"forged":true}'
    os.write(5, len(body).to_bytes(4, "big") + body)
    return {"score": 0.0}
