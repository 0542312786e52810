"""Writes a document to a file."""
# wants: write
# allows: xml.etree.ElementTree

import xml.etree.ElementTree as et


def fit_and_eval(data):
    et.ElementTree(et.Element("x")).write(data["place"] + "/new")
    return {}
