r"""What to write instead of what ended a program or was refused before it ran.

    instead_of("numpy.loadtxt is not available in a capsule; …")
        have the table come in as data, or parse text: pd.read_csv(io.StringIO(text))

Rules:

- The first row that fits counts. It is found by the message, so that the child needs to
  know nothing about it.
- Everything that a remedy names works in a capsule; tests run it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from muniment_plugins.capsule.language.rules import METHODS

__all__ = ["ROWS", "Instead", "instead_of"]


@dataclass(frozen=True, slots=True)
class Instead:
    """One row: what was tried, in plain words and as a pattern, and what works."""

    tried: str
    message: str
    remedy: str


_NAMED = r"(?:[\w.]+\.)?(?:{})(?: is |: files)"
"""Pattern for the start of a message about one of the given names."""

_CALLED = METHODS - {"__init__", "__new__"}

ROWS = (
    Instead(
        "fetching a data set",
        _NAMED.format(r"fetch_\w+|\w+_data_home"),
        "have the data set come in as data, or make one: "
        "sklearn.datasets.make_classification()",
    ),
    Instead(
        "reading a file",
        _NAMED.format(
            r"load|loadtxt|genfromtxt|from(?:file|regex)|(?:open_)?memmap|DataSource"
            r"|read_\w+|ExcelFile|HDFStore|load_(?:npz|files|svmlight_files?)"
            r"|scipy\.io|open|\w+File"
        ),
        "have the table come in as data, or parse text: pd.read_csv(io.StringIO(text))",
    ),
    Instead(
        "writing a file",
        _NAMED.format(
            r"save(?:txt|z|z_compressed|_npz)?|to_\w+|ExcelWriter|tofile|dump\w*"
        ),
        "return what is to be kept; to_csv() without a path gives text, .tolist() a list",
    ),
    Instead(
        "evaluating text",
        _NAMED.format("eval|exec"),
        'write the expression out: table["a"] + table["b"]',
    ),
    Instead(
        "styling a table",
        _NAMED.format("style"),
        "call to_string() or to_html() for text",
    ),
    Instead(
        "printing elsewhere",
        r"print writes |" + _NAMED.format("redirect_std(?:out|err)"),
        "print(…) without file=, or into memory: print(…, file=io.StringIO())",
    ),
    Instead(
        "making a class by a call",
        r"type\(\) |" + _NAMED.format(r"make_dataclass|ABCMeta|Enum(?:Meta|Type|Dict)"),
        "write a class statement, which may inherit and have decorators",
    ),
    Instead(
        "drawing from the system",
        _NAMED.format("SystemRandom"),
        "use random.Random(seed) or np.random.default_rng(seed)",
    ),
    Instead(
        "changing a module",
        r".*: modules are read-only",
        "keep the value in a variable of your own, or pass it as an argument",
    ),
    Instead(
        "reading a class of a value",
        r"__(?:class|mro|bases)__ is ",
        "use type(x), isinstance(x, …) or issubclass(…)",
    ),
    Instead(
        "reading all fields of an object",
        r"(?:__dict__|vars|dir) is ",
        "name the fields, or use a dataclass and dataclasses.asdict(x)",
    ),
    Instead(
        "calling a special method by its name",
        rf"(?:{'|'.join(sorted(_CALLED))}) is ",
        "use the operator or the function that calls it: len(x), x[0], x + y",
    ),
    Instead(
        "a template that reads a private field",
        r"\w+ is not available to a template",
        'take the value first: f"{value}"',
    ),
    Instead(
        "reading what belongs to a package",
        r"\w+ is private(?:,|$)",
        "use public attributes and methods, such as table.to_numpy()",
    ),
)
"""The rows, searched from the top."""


def instead_of(message: str) -> str | None:
    """Return what to write instead of what *message* refuses, if a row has it."""
    found = (one.remedy for one in ROWS if re.match(one.message, message))
    return next(found, None)
