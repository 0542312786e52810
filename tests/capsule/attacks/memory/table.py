"""Fills a table with texts of its own."""
# wants: memory

def fit_and_eval(data):
    return {"n": len({str(n): n for n in range(1_600_000)})}
