"""Compact arrays, numbers' classes and prime sieves."""
import array
import numbers


def sieve(limit):
    flags = bytearray([1]) * (limit + 1)
    flags[0:2] = b"\x00\x00"
    for n in range(2, int(limit**0.5) + 1):
        if flags[n]:
            flags[n * n :: n] = bytes(len(range(n * n, limit + 1, n)))
    return [n for n, flag in enumerate(flags) if flag]


def fit_and_eval(data):
    values = array.array("d", data)
    values.append(0.5)
    return {
        "sum": sum(values),
        "itemsize": values.itemsize,
        "list": values.tolist(),
        "primes": len(sieve(10_000)),
        "last": sieve(100)[-1],
        "kinds": [isinstance(x, numbers.Integral) for x in (1, 1.0, True)],
        "real": isinstance(1.5, numbers.Real) and not isinstance(1j, numbers.Real),
        "bits": [(10).bit_length(), (255).bit_count(), 0b1010 & ~0b10, 1 << 70],
        "float": [(0.5).hex(), (0.75).as_integer_ratio(), float.fromhex("0x1p-2"), (2.0).is_integer()],
        "bases": [int("ff", 16), int("1010", 2), bin(5), oct(8), hex(255)],
        "big": 2**100 % 10**9,
        "modular": [pow(3, -1, 7), pow(2, 100, 13)],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'sum': 15.5,
 'itemsize': 8,
 'list': [1.0, 2.0, 3.0, 4.0, 5.0, 0.5],
 'primes': 1229,
 'last': 97,
 'kinds': [True, False, True],
 'real': True,
 'bits': [4, 8, 8, 1180591620717411303424],
 'float': ['0x1.0000000000000p-1', [3, 4], 0.25, True],
 'bases': [255, 10, '0b101', '0o10', '0xff'],
 'big': 703205376,
 'modular': [5, 3]}
