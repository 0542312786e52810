"""Makes a file with statements in a text."""
# wants: write

def fit_and_eval(data):
    exec(f"import os; os.mkdir({data['place'] + '/new'!r})")
    return {}
