"""Turns the standard input into a file, and reads it with input."""
# wants: read

def fit_and_eval(data):
    import os

    os.dup2(os.open(data["secret"], os.O_RDONLY), 0)
    return {"got": input()}
