"""Generators that are lazy, send, return and delegate."""
def primes():
    found = []
    n = 2
    while True:
        if all(n % p for p in found if p * p <= n):
            found.append(n)
            yield n
        n += 1


def take(n, iterable):
    for i, item in enumerate(iterable):
        if i >= n:
            return
        yield item


def running_mean():
    total, count, mean = 0.0, 0, None
    while True:
        value = yield mean
        total += value
        count += 1
        mean = total / count


def inner():
    received = yield 1
    yield received
    return "done"


def outer():
    result = yield from inner()
    yield result


def flatten(items):
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from flatten(item)
        else:
            yield item


class Countdown:
    def __init__(self, start):
        self.start = start

    def __iter__(self):
        current = self.start
        while current > 0:
            yield current
            current -= 1

    def __reversed__(self):
        return iter(range(1, self.start + 1))


class Squares:
    def __init__(self, limit):
        self.limit, self.n = limit, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.n >= self.limit:
            raise StopIteration
        self.n += 1
        return self.n**2


def fit_and_eval(data):
    mean = running_mean()
    next(mean)
    means = [mean.send(x) for x in data]
    delegate = outer()
    steps = [next(delegate), delegate.send("sent"), next(delegate)]
    mean.close()
    return {
        "primes": list(take(10, primes())),
        "means": means,
        "steps": steps,
        "flat": list(flatten([1, [2, (3, [4])], 5])),
        "countdown": list(Countdown(3)) + list(reversed(Countdown(3))),
        "squares": list(Squares(4)),
        "lazy": sum(x * x for x in range(1000) if x % 3 == 0),
        "empty": next(iter([]), "nothing"),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'primes': [2, 3, 5, 7, 11, 13, 17, 19, 23, 29],
 'means': [1.0, 1.5, 2.0, 2.5, 3.0],
 'steps': [1, 'sent', 'done'],
 'flat': [1, 2, 3, 4, 5],
 'countdown': [3, 2, 1, 1, 2, 3],
 'squares': [1, 4, 9, 16],
 'lazy': 111277611,
 'empty': 'nothing'}
