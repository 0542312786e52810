"""The modules that a policy may list without further permission.

    is_dangerous("math")         False     listed, and a test looks at what it offers
    is_dangerous("posixpath")    True      in the standard library, and not listed
    is_dangerous("pandas.io")    True      in a known package, and not listed
    is_dangerous("sluggish")     False     somebody's own package: the caller's choice

Rules:

- In the standard library, NumPy, pandas, SciPy and scikit-learn, every module that is
  not listed is dangerous, including those that a later version adds.
- Of all other modules, those known to hand out files, processes or sockets are
  dangerous, and those that the standard library once had.
- In some modules only a few names are harmless: `EXPOSED` lists them, and views hold no
  others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from muniment_plugins.capsule.language.companions import COMPANIONS
from muniment_plugins.capsule.language.rules import words

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
"""Modules of the standard library; nothing in their views opens, starts, imports or
evaluates anything of a program's choice, as tests/capsule/test_harmless.py shows."""

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
