"""Spectra, frequencies, a filter and convolution by transforms."""
import numpy as np
from numpy.fft import fft, fftfreq, ifft, irfft, rfft, rfftfreq


def fit_and_eval(data):
    n, rate = 200, 100.0
    t = np.arange(n) / rate
    signal = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 20 * t)
    spectrum = np.abs(rfft(signal)) * 2 / n
    frequencies = rfftfreq(n, 1 / rate)
    peaks = frequencies[np.argsort(spectrum)[-2:]]
    filtered = rfft(signal)
    filtered[frequencies > 10] = 0
    low = irfft(filtered, n)
    a, b = np.array([1.0, 2, 3]), np.array([0.0, 1, 0.5])
    size = len(a) + len(b) - 1
    by_transform = ifft(fft(a, size) * fft(b, size)).real
    return {
        "peaks": sorted(peaks.tolist()),
        "amplitudes": np.round(np.sort(spectrum)[-2:], 6),
        "low": round(float(np.abs(low - np.sin(2 * np.pi * 5 * t)).max()), 9),
        "convolved": np.round(by_transform, 9),
        "same": bool(np.allclose(by_transform, np.convolve(a, b))),
        "frequencies": fftfreq(5, 0.1),
        "shift": np.fft.fftshift(np.arange(5)),
        "parseval": bool(np.isclose((signal**2).sum(), (np.abs(np.fft.fft(signal)) ** 2).sum() / n)),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'peaks': [5.0, 20.0],
 'amplitudes': [0.5, 1.0],
 'low': 0.0,
 'convolved': [-0.0, 1.0, 2.5, 4.0, 1.5],
 'same': True,
 'frequencies': [0.0, 2.0, 4.0, -4.0, -2.0],
 'shift': [3, 4, 0, 1, 2],
 'parseval': True}
