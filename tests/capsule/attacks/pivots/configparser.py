"""Reads a file as a configuration; the error tells the line that it could not."""
# wants: read
# allows: configparser

import configparser


def fit_and_eval(data):
    try:
        configparser.ConfigParser().read(data["secret"])
    except configparser.Error as error:
        return {"got": str(error)}
