"""Prints much more than anyone keeps."""
# wants: output

def fit_and_eval(data):
    for _ in range(300):
        print("y" * 99)
    return {}
