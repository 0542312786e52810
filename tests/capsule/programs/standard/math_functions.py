"""Numbers, logarithms, angles, combinations and tests of floats."""
import math


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(math.radians, (lat1, lon1, lat2, lon2))
    a = (
        math.sin((lat2 - lat1) / 2) ** 2
        + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * 6371 * math.asin(math.sqrt(a))


def newton(f, df, x, tolerance=1e-12):
    while abs(f(x)) > tolerance:
        x -= f(x) / df(x)
    return x


def fit_and_eval(data):
    return {
        "factorial": math.factorial(10),
        "comb": [math.comb(10, 3), math.perm(5, 2)],
        "gcd": [math.gcd(12, 18), math.lcm(4, 6)],
        "logs": [math.log2(8), round(math.log(10), 6), math.log10(1000), round(math.log1p(1e-5), 12)],
        "primes": [n for n in range(30) if is_prime(n)],
        "rounded": [math.floor(-1.5), math.ceil(1.2), math.trunc(-1.7)],
        "close": math.isclose(0.1 + 0.2, 0.3),
        "fsum": math.fsum([0.1] * 10),
        "prod": math.prod(data),
        "dist": math.dist((0, 0), (3, 4)),
        "paris_london": round(haversine(48.8566, 2.3522, 51.5074, -0.1278), 1),
        "root": round(newton(lambda x: x * x - 2, lambda x: 2 * x, 1.0), 9),
        "special": [math.isnan(math.nan), math.isinf(math.inf), math.copysign(1, -0.0)],
        "frexp": math.frexp(8.0),
        "tau": round(math.tau - 2 * math.pi, 6),
        "erf": round(math.erf(1), 6),
        "degrees": round(math.degrees(math.atan2(1, 1)), 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'factorial': 3628800,
 'comb': [120, 20],
 'gcd': [6, 12],
 'logs': [3.0, 2.302585, 3.0, 9.99995e-06],
 'primes': [2, 3, 5, 7, 11, 13, 17, 19, 23, 29],
 'rounded': [-2, 2, -1],
 'close': True,
 'fsum': 1.0,
 'prod': 120,
 'dist': 5.0,
 'paris_london': 343.6,
 'root': 1.414213562,
 'special': [True, True, -1.0],
 'frexp': [0.5, 4],
 'tau': 0.0,
 'erf': 0.842701,
 'degrees': 45.0}
