"""The modules that a policy may list without a word more: a list, and nothing beside it.

    is_dangerous("math")         False     listed, and a test looks at what it offers
    is_dangerous("posixpath")    True      of the standard library, and not listed
    is_dangerous("pandas.io")    True      of a package that is known, and not listed
    is_dangerous("sluggish")     False     somebody's own package: what the caller wants

Rules:

- Of the standard library, NumPy, pandas, SciPy and scikit-learn, what is not listed is
  dangerous, also what a later version brings.
- Of everything else, what is known to hand out files, processes or sockets is, and what
  the standard library had once.
- Of some modules only a few names are harmless: `EXPOSED` lists those, and views hold
  no others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from muniment_plugins.capsule.companions import COMPANIONS
from muniment_plugins.capsule.rules import words

__all__ = ["HARMLESS", "is_dangerous"]

HARMLESS = words(
    """
    abc array base64 binascii bisect bz2 calendar cmath collections colorsys contextlib
    contextvars copy csv dataclasses datetime decimal difflib enum errno fnmatch
    fractions functools graphlib gzip hashlib heapq hmac html io ipaddress itertools
    json keyword lzma math numbers operator pprint random re reprlib secrets shlex
    statistics string stringprep struct textwrap time token tomllib typing unicodedata
    uuid warnings zlib zoneinfo
    """
)
"""Modules of the standard library; what views of them hold opens, starts, imports and
evaluates nothing of a program's choice, as tests/capsule/test_harmless.py shows."""

_KNOWN: Mapping[str, frozenset[str]] = {
    package: frozenset({package, *COMPANIONS[package]})
    for package in ("numpy", "pandas", "scipy", "sklearn")
}
_KNOWN_DANGERS = words(
    """
    aifc asynchat asyncore audioop cffi cgi cgitb chunk cloudpickle crypt distutils imghdr
    imp joblib lib2to3 mailcap msilib muniment muniment_cli muniment_plugins nis nntplib
    ossaudiodev pip pipes psutil pyarrow requests setuptools smtpd sndhdr spwd sunau
    telnetlib urllib3 uu xdrlib
    """
)


def is_dangerous(name: str) -> bool:
    """Tell whether the module *name* would open the capsule, or may."""
    package = name.partition(".")[0]
    if name.startswith("_") or package in _KNOWN_DANGERS:
        return True
    if package in _KNOWN:
        return name not in _KNOWN[package]
    if package in sys.stdlib_module_names:
        return name not in HARMLESS and name not in COMPANIONS.get(package, ())
    return False
