"""Makes all combinations into a list."""
# wants: memory
# allows: itertools

import itertools


def fit_and_eval(data):
    return {"n": len(list(itertools.product(range(20), repeat=5))) * 1}
