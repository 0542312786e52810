"""Attaches a file to a database in memory, and so makes it."""
# wants: write
# allows: sqlite3

import sqlite3


def fit_and_eval(data):
    db = sqlite3.connect(":memory:")
    db.execute("attach ? as other", (data["place"] + "/new",))
    db.execute("create table other.x (a)")
    return {}
