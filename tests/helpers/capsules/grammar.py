r"""Programs by a grammar: what is allowed, what is not, and what is meant to hurt.

    programs().example()    "import math\nx = (lambda: eval)[0] ** 9 ** 9\n…"

Most of them are Python; some are not text at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

__all__ = ["BOMBS", "programs", "tame"]

NAMES = (
    *("x", "y", "data", "print", "len", "range", "sum", "str", "dict", "list", "type"),
    *("isinstance", "getattr", "setattr", "hasattr", "super", "object", "Exception"),
    *("math", "np", "random", "f", "A", "self", "__name__", "_", "_private", "iter"),
    *("eval", "exec", "open", "compile", "globals", "vars", "dir", "input", "exit"),
    *("__import__", "__builtins__", "__class__", "__debug__", "__file__", "breakpoint"),
    # As identifiers, these are eval, exec, __class__, fi, and a name of another script.
    *(
        "\uff45val",
        "\uff45\uff58\uff45\uff43",
        "__\uff43lass__",
        "ﬁ",
        "Ω",
        "\U0001d431",
        "ª",
        "été",
        "名前",
    ),
)
ATTRIBUTES = (
    *("append", "real", "items", "format", "join", "split", "x", "shape", "linalg"),
    *("sqrt", "pi", "mro", "gi_frame", "f_back", "tb_next", "co_code", "tofile"),
    *("__class__", "__mro__", "__subclasses__", "__globals__", "__init__", "__dict__"),
    *("__name__", "__reduce__", "__call__", "__getattribute__", "__\uff44ict__", "_x"),
)
MODULES = (
    *("math", "random", "numpy", "numpy.linalg", "os", "sys", "builtins", "os.path"),
    *("subprocess", "ctypes", "__future__", "json", "muniment", "nowhere", "a.b.c.d"),
)
CONSTANTS = (
    *(
        "0",
        "1",
        "-1",
        "2.5",
        "1e308",
        "1e999",
        "1j",
        "None",
        "True",
        "...",
        "''",
        "b''",
    ),
    *("'text'", "b'\\xff'", "'\\ud800'", "'\\x00'", "'{0.__class__}'", "'%s'", "nan"),
    *("0xffffffffffffffff", "10**400", "1_000", "'a' 'b'", "r'\\d'", "'''\n'''", "[]"),
    *("9" * 400, "9" * 5000, f"'{'é' * 300}'", "1" + "_0" * 50, "{}", "()", "0o777"),
)
BOMBS = (
    *("9**9**9", "9**9**9**9", "'a'*10**9", "[0]*10**9", "(1,)*10**10", "b'x'*10**12"),
    *("1<<10**10", "range(10**18)", "list(range(10**9))", "sum(range(10**10))"),
    *("'%1000000000d' % 1", "f'{1:1000000000}'", "'x'.ljust(10**10)", "10**10**8"),
    *("[*iter(int, 1)]", "[x for x in iter(int, 1)]", "{i: i for i in range(10**9)}"),
    *("(lambda f: f(f))(lambda f: f(f))", "str(10**100000)", "int('9'*10**6)"),
    *("max(iter(int, 1))", "'a'.replace('a', 'a'*10**6)*10**6", "bytearray(10**11)"),
    *("all(1 for _ in iter(int, 1))", "sorted(range(10**9))", "hash('a'*10**9)"),
    *("[[]]*10**9", "divmod(10**100000, 3)", "pow(7, 10**8)", "'((' * 10**5"),
)
LOOPS = (
    *("while True: pass", "while 1:\n    x = 1", "for i in iter(int, 1): pass"),
    *(
        "def f(): return f()\nf()",
        "class A:\n    def __repr__(self): return repr(self)\nprint(A())",
    ),
    *("while True: print('y' * 1000)", "x = []\nwhile True: x.append(x)"),
    *(
        "x = None\nwhile True: x = [x]",
        "x = 'a'\nwhile True: x += x",
        "raise SystemExit",
    ),
    *("raise KeyboardInterrupt", "raise Exception('\\ud800')", "assert False, 'no'"),
    *("class E(Exception):\n    def __str__(self): return 1\nraise E", "x = 1 / 0"),
    *("def g():\n    yield 1\n    yield from g()\nprint(list(g()))", "del x", "x ="),
)
KEYWORDS = (
    *("global x", "nonlocal x", "with x: pass", "try: pass\nexcept: pass", "await x"),
    *(
        "async def f(): pass",
        "yield 1",
        "return 1",
        "break",
        "from . import x",
        "type T = int",
    ),
    *(
        "class A(metaclass=type): pass",
        "import *",
        "match x:\n    case [*_]: pass",
        "lambda",
    ),
    *(
        "@f\ndef g(): pass",
        "def __init__(): pass",
        "__name__ = 1",
        "math.pi = 3",
        "del math.pi",
    ),
)


@dataclass(frozen=True, slots=True)
class Words:
    """What programs are put together from."""

    names: tuple[str, ...]
    attributes: tuple[str, ...]
    constants: tuple[str, ...]
    modules: tuple[str, ...]
    whole: tuple[str, ...]
    """Statements as they are."""


WILD = Words(NAMES, ATTRIBUTES, CONSTANTS, MODULES, (*LOOPS, *KEYWORDS))
TAME = Words(
    names=(*NAMES[:12], "data", "data", "x", "y"),
    attributes=("append", "real", "items", "join", "split", "x", "imag", "count"),
    constants=("0", "1", "2.5", "'text'", "None", "True", "[1, 2]", "{'k': 3}", "b''"),
    modules=("math", "random", "json"),
    whole=(*LOOPS[:14], "x = [n * n for n in range(9)]", "y = sorted('banana')"),
)


def expressions(words: Words) -> st.SearchStrategy[str]:
    """Return expressions, mostly well formed."""
    names = st.sampled_from(words.names)
    atoms = st.sampled_from((*words.names, *words.constants))
    return st.recursive(
        st.one_of(atoms, atoms, st.sampled_from(BOMBS[:-1])),
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, _operators(), inner),
            st.builds("({}).{}".format, inner, st.sampled_from(words.attributes)),
            st.builds("({})({})".format, inner, inner),
            st.builds("({})[{}]".format, inner, inner),
            st.builds("[{} for x in [{}]]".format, inner, inner),
            st.builds("{{{}: {}}}".format, inner, inner),
            st.builds("(lambda x={}: {})".format, inner, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("f'{{{}!r:>{{{}}}}}'".format, names, names),
            st.builds("({} := {})".format, names, inner),
            st.builds(_nested, inner, st.integers(1, 400)),
        ),
        max_leaves=6,
    )


def _operators() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            "+",
            "-",
            "*",
            "/",
            "//",
            "%",
            "**",
            "<<",
            ">>",
            "&",
            "|",
            "^",
            "@",
            "and",
            "or",
            "in",
            "is",
            "<",
            "==",
            "!=",
        ]
    )


def _nested(inner: str, depth: int) -> str:
    return "(" * depth + inner + ")" * depth


def statements(words: Words) -> st.SearchStrategy[str]:
    """Return statements, mostly well formed."""
    names, values = st.sampled_from(words.names), expressions(words)
    modules = st.sampled_from(words.modules)
    return st.one_of(
        st.builds("{} = {}".format, names, values),
        st.builds("{} = {}".format, names, values),
        st.builds("{} += {}".format, names, values),
        st.builds(
            "{}.{} = {}".format, names, st.sampled_from(words.attributes), values
        ),
        st.builds("print({})".format, values),
        st.builds("import {}".format, modules),
        st.builds("import {} as {}".format, modules, names),
        st.builds("from {} import {}".format, modules, names),
        st.builds("for x in {}:\n    {}".format, values, values),
        st.builds("if {}:\n    {}".format, values, values),
        st.builds("def {}(x: {} = {}):\n    return {}".format, names, *[values] * 3),
        st.builds("class {}({}):\n    x = {}".format, names, values, values),
        st.builds("x: '{}' = 1".format, names),
        st.sampled_from(words.whole),
    )


def _whole(words: Words) -> st.SearchStrategy[str]:
    head = st.lists(statements(words), max_size=3).map("\n".join)
    body = st.lists(statements(words), max_size=3).map(_indented)
    text = "{}\ndef fit_and_eval(data):\n{}\n    return {{'v': {}}}\n"
    return st.builds(text.format, head, body, expressions(words))


def tame() -> st.SearchStrategy[str]:
    """Return programs of allowed words only; most of them run."""
    return _whole(TAME)


def programs() -> st.SearchStrategy[str]:
    """Return programs with an entrypoint, most of the time; and what is not a program."""
    whole = _whole(WILD)
    odd = st.text(max_size=30) | st.sampled_from(
        ("\0", "\ufeff", "\r", "\x0c", "\ud800")
    )
    parts = st.sampled_from(("(", "[", "{", "-", "not ", "x.", "x[", "f'{"))
    return st.one_of(
        whole,
        whole,
        whole,
        st.builds(_spliced, whole, odd, st.integers(0, 10**6)),
        st.lists(statements(WILD), max_size=4).map("\n".join),
        st.text(max_size=200),
        st.builds(_deep, parts, st.integers(1, 3000)),
    )


def _indented(lines: list[str]) -> str:
    text = "\n".join(lines) or "pass"
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _spliced(text: str, odd: str, place: int) -> str:
    place %= len(text) + 1
    return text[:place] + odd + text[place:]


def _deep(part: str, depth: int) -> str:
    return f"def fit_and_eval(data): return {part * depth}1\n"
