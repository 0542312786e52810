"""Runs a text in the interactive interpreter of the standard library."""
# wants: write
# allows: code

import code


def fit_and_eval(data):
    code.InteractiveInterpreter().runsource(
        f"import os; os.mkdir({data['place'] + '/new'!r})"
    )
    return {}
