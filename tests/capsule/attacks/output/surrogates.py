"""Prints halves of characters, which no encoding has."""
# wants: output

def fit_and_eval(data):
    for _ in range(2000):
        print("\\ud800".encode().decode("unicode_escape").encode("utf-8", "backslashreplace").decode() * 9)
    return {}
