"""Limits the digits of whoever comes next."""
# wants: leak

import sys


def fit_and_eval(data):
    sys.set_int_max_str_digits(777)
    return {}


def check(data):
    return {"left": True} if sys.get_int_max_str_digits() == 777 else {}
