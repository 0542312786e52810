"""Reads digits into a number, which takes the square of their count."""
# wants: time

def fit_and_eval(data):
    n = 1 << 3_000_000
    total = 0
    for k in range(10**6):
        total += n * n % (n - k - 1)
    return {"n": total % 2}
