"""Constants of string, templates, wrapped and indented text."""
import string
import textwrap
from string import Template, ascii_lowercase, capwords

TEXT = """
    Some longer text that stands
    in the source with an indent.
    """


def is_pangram(text):
    return set(ascii_lowercase) <= set(text.lower())


def histogram(text):
    cleaned = text.translate(str.maketrans("", "", string.punctuation)).lower()
    return {c: cleaned.count(c) for c in sorted(set(cleaned) - set(string.whitespace))}


def fit_and_eval(data):
    dedented = textwrap.dedent(TEXT).strip()
    return {
        "pangram": [is_pangram("The quick brown fox jumps over the lazy dog"), is_pangram("abc")],
        "histogram": histogram("Hello, hello!"),
        "template": Template("$name owes ${amount} EUR").substitute(name="Ada", amount=5),
        "safe": Template("$a $b").safe_substitute(a=1),
        "capwords": capwords("hello big world"),
        "dedented": dedented,
        "wrapped": textwrap.wrap(dedented.replace("\n", " "), width=20),
        "filled": textwrap.fill("aaa bbb ccc ddd", width=7, initial_indent="* ", subsequent_indent="  "),
        "indented": textwrap.indent("a\nb", "> "),
        "shortened": textwrap.shorten("one two three four", width=12, placeholder="..."),
        "constants": [string.digits, string.hexdigits[-6:], len(string.printable)],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'pangram': [True, False],
 'histogram': {'e': 2, 'h': 2, 'l': 4, 'o': 2},
 'template': 'Ada owes 5 EUR',
 'safe': '1 $b',
 'capwords': 'Hello Big World',
 'dedented': 'Some longer text that stands\nin the source with an indent.',
 'wrapped': ['Some longer text', 'that stands in the', 'source with an', 'indent.'],
 'filled': '* aaa\n  bbb\n  ccc\n  ddd',
 'indented': '> a\n> b',
 'shortened': 'one two...',
 'constants': ['0123456789', 'ABCDEF', 100]}
