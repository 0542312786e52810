"""Complex numbers: roots of a quadratic, polar form, a small Fourier transform."""
import cmath


def quadratic(a, b, c):
    root = cmath.sqrt(b * b - 4 * a * c)
    return (-b + root) / (2 * a), (-b - root) / (2 * a)


def dft(values):
    n = len(values)
    return [
        sum(v * cmath.exp(-2j * cmath.pi * k * i / n) for i, v in enumerate(values))
        for k in range(n)
    ]


def mandelbrot(c, limit=50):
    z = 0j
    for i in range(limit):
        if abs(z) > 2:
            return i
        z = z * z + c
    return limit


def fit_and_eval(data):
    first, second = quadratic(1, 2, 5)
    spectrum = dft(data)
    return {
        "roots": [[first.real, first.imag], [second.real, second.imag]],
        "polar": [round(v, 6) for v in cmath.polar(1 + 1j)],
        "spectrum": [round(abs(v), 6) for v in spectrum],
        "mandelbrot": [mandelbrot(complex(x / 2, 0.5)) for x in range(-4, 3)],
        "conjugate": str((3 + 4j).conjugate()),
        "abs": abs(3 + 4j),
        "euler": abs(cmath.exp(1j * cmath.pi) + 1) < 1e-12,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'roots': [[-1.0, 2.0], [-1.0, -2.0]],
 'polar': [1.414214, 0.785398],
 'spectrum': [15.0, 4.253254, 2.628656, 2.628656, 4.253254],
 'mandelbrot': [1, 3, 5, 50, 50, 5, 2],
 'conjugate': '(3-4j)',
 'abs': 5.0,
 'euler': True}
