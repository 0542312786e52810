"""Filters, peaks, windows, spectra and correlation of signals."""
import numpy as np
from scipy import signal
from scipy.signal import butter, correlate, detrend, filtfilt, find_peaks, lfilter, savgol_filter, welch, windows


def fit_and_eval(data):
    rate = 200
    t = np.arange(0, 2, 1 / rate)
    clean = np.sin(2 * np.pi * 3 * t)
    noisy = clean + 0.3 * np.sin(2 * np.pi * 40 * t)
    b, a = butter(4, 10, fs=rate)
    filtered = filtfilt(b, a, noisy)
    peaks, properties = find_peaks(filtered, height=0.5)
    frequencies, power = welch(noisy, rate, nperseg=200)
    lag = correlate(clean, np.roll(clean, 10), mode="full").argmax() - (len(t) - 1)
    return {
        "coefficients": np.round(b, 8),
        "error": round(float(np.abs(filtered - clean)[50:-50].max()), 4),
        "peaks": peaks,
        "heights": np.round(properties["peak_heights"], 2),
        "dominant": float(frequencies[power.argmax()]),
        "lag": int(lag),
        "smooth": np.round(savgol_filter([1, 2, 6, 4, 5], 3, 1), 6),
        "detrended": np.round(detrend([1.0, 2.0, 3.0]), 9) + 0.0,
        "window": np.round(windows.hann(5), 6),
        "lfilter": lfilter([1.0, 1.0], [1.0], data),
        "resampled": len(signal.resample(clean, 100)),
        "convolved": signal.fftconvolve([1, 2], [1, 3]).round(6),
        "median": signal.medfilt([1, 9, 2, 3, 4], 3),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'coefficients': [0.0004166, 0.0016664, 0.0024996, 0.0016664, 0.0004166],
 'error': 0.0001,
 'peaks': [17, 83, 150, 217, 283, 350],
 'heights': [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
 'dominant': 3.0,
 'lag': -10,
 'smooth': [0.5, 3.0, 4.0, 5.0, 4.5],
 'detrended': [0.0, 0.0, 0.0],
 'window': [0.0, 0.5, 1.0, 0.5, 0.0],
 'lfilter': [1.0, 3.0, 5.0, 7.0, 9.0],
 'resampled': 100,
 'convolved': [1.0, 5.0, 6.0],
 'median': [1, 2, 3, 3, 3]}
