"""Makes a database in a file."""
# wants: write
# allows: sqlite3

import sqlite3


def fit_and_eval(data):
    sqlite3.connect(data["place"] + "/new").execute("create table x (a)")
    return {}
