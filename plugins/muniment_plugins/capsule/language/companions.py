"""The submodules that a listed package brings, because ordinary programs use them.

    "numpy"    brings numpy.linalg, numpy.random, …
    "sklearn"  brings sklearn.metrics, sklearn.linear_model, …

Rules: none that reads files by name, runs processes or opens sockets for a living, so
no ``scipy.io``, no ``numpy.f2py``; if a submodule offers such things besides its own
work, `rules` withholds them. A program loads only those that it names.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment_plugins.capsule.language.rules import words

__all__ = ["COMPANIONS"]

_SUBMODULES = {
    "collections": "abc",
    "numpy": """
        char dtypes exceptions fft lib lib.stride_tricks linalg ma polynomial
        polynomial.chebyshev polynomial.hermite polynomial.legendre
        polynomial.polynomial random rec strings typing
    """,
    "numpy.polynomial": "chebyshev hermite legendre polynomial",
    "pandas": "api api.types arrays errors testing tseries tseries.offsets",
    "scipy": """
        cluster cluster.hierarchy cluster.vq constants fft integrate interpolate linalg
        ndimage optimize signal signal.windows sparse sparse.csgraph sparse.linalg
        spatial spatial.distance spatial.transform special stats stats.contingency
        stats.mstats stats.qmc
    """,
    "scipy.cluster": "hierarchy vq",
    "scipy.signal": "windows",
    "scipy.sparse": "csgraph linalg",
    "scipy.spatial": "distance transform",
    "scipy.stats": "contingency mstats qmc",
    "sklearn": """
        base calibration cluster compose covariance cross_decomposition datasets
        decomposition discriminant_analysis dummy ensemble exceptions experimental
        experimental.enable_halving_search_cv experimental.enable_iterative_imputer
        feature_extraction feature_extraction.text feature_selection frozen gaussian_process
        gaussian_process.kernels impute inspection isotonic kernel_approximation
        kernel_ridge linear_model manifold metrics metrics.cluster metrics.pairwise
        mixture model_selection multiclass multioutput naive_bayes neighbors
        neural_network pipeline preprocessing random_projection semi_supervised svm tree
        utils utils.class_weight utils.validation
    """,
    "sklearn.feature_extraction": "text",
    "sklearn.gaussian_process": "kernels",
    "sklearn.metrics": "cluster pairwise",
}

COMPANIONS: Mapping[str, frozenset[str]] = {
    package: frozenset(f"{package}.{name}" for name in words(names))
    for package, names in _SUBMODULES.items()
}
