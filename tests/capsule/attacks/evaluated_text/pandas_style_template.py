"""Has the templates of a styled table evaluate an expression."""
# wants: read
# allows: pandas

import pandas as pd

TEXT = "{{ cycler.__init__.__globals__['__builtins__']['open'](place).read() }}"


def fit_and_eval(data):
    template = pd.DataFrame({"a": [1]}).style.env.from_string(TEXT)
    return {"got": template.render(place=data["secret"])}
