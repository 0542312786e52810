"""Has a parser of documents fetch what a document refers to."""
# wants: network
# allows: xml.sax

import xml.sax


def fit_and_eval(data):
    try:
        xml.sax.parse(f"http://127.0.0.1:{data['port']}/x", xml.sax.ContentHandler())
    except OSError:
        return {}
