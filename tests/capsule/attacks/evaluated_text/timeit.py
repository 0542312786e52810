"""Compiles a text through the module that times statements."""
# wants: write
# allows: timeit

import timeit


def fit_and_eval(data):
    timeit.timeit(f"__import__('os').mkdir({data['place'] + '/new'!r})", number=1)
    return {}
