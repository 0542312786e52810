"""Counters, accumulators and decorators that remember."""
def make_counter(start=0):
    state = {"n": start}

    def increment(by=1):
        state["n"] += by
        return state["n"]

    return increment


def compose(*functions):
    def composed(x):
        for function in reversed(functions):
            x = function(x)
        return x
    return composed


def memoize(function):
    cache = {}

    def wrapper(n):
        if n not in cache:
            cache[n] = function(n)
        return cache[n]

    wrapper.cache = cache
    return wrapper


@memoize
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def repeat(times):
    def decorator(function):
        def wrapper(*args, **kwargs):
            return [function(*args, **kwargs) for _ in range(times)]
        return wrapper
    return decorator


@repeat(times=3)
def greet(name, *, punctuation="!"):
    return "hello " + name + punctuation


def fit_and_eval(data):
    counter = make_counter(10)
    counter()
    adders = [lambda x, n=n: x + n for n in range(3)]
    return {
        "counter": counter(5),
        "composed": compose(lambda x: x + 1, lambda x: x * 2)(10),
        "fibonacci": fibonacci(60),
        "cached": len(fibonacci.cache),
        "greet": greet("you", punctuation="?"),
        "late": [f(10) for f in adders],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'counter': 16,
 'composed': 21,
 'fibonacci': 1548008755920,
 'cached': 61,
 'greet': ['hello you?', 'hello you?', 'hello you?'],
 'late': [10, 11, 12]}
