"""Regular expressions: groups, substitutions, splitting, a log and a tokenizer."""
import re
from collections import Counter

LOG = """
2026-11-20 07:01:22 ERROR db: connection lost (code=17)
2026-11-20 07:02:10 INFO web: request served in 35ms
2026-11-20 07:02:11 ERROR web: timeout after 3000ms
"""

PATTERN = re.compile(
    r"^(?P<date>\d{4}-\d{2}-\d{2})\s+(?P<time>[\d:]+)\s+(?P<level>[A-Z]+)\s+(?P<source>\w+):\s+(?P<text>.*)$",
    re.MULTILINE,
)

TOKENS = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-z]\w*)|(?P<op>[-+*/()]))", re.IGNORECASE)


def tokenize(text):
    return [(m.lastgroup, m.group(m.lastgroup)) for m in TOKENS.finditer(text)]


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def fit_and_eval(data):
    entries = [m.groupdict() for m in PATTERN.finditer(LOG)]
    email = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
    match = re.fullmatch(r"(\d+)-(\d+)", "10-25")
    return {
        "levels": Counter(e["level"] for e in entries),
        "sources": [e["source"] for e in entries],
        "times": re.findall(r"(\d+)ms", LOG),
        "tokens": tokenize("3.5*(x1 + 42)"),
        "slug": slug("Hello, World! It's me."),
        "emails": email.findall("a.b@example.com, nobody, x+y@mail.example.org"),
        "split": re.split(r"[,;]\s*", "a, b;c;  d"),
        "swap": re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world"),
        "named": re.sub(r"(?P<y>\d{4})-(?P<m>\d\d)", r"\g<m>/\g<y>", "2026-11"),
        "upper": re.sub(r"\b[a-z]", lambda m: m.group().upper(), "make this title"),
        "match": [match.group(0), match.groups(), match.span(2)],
        "none": re.match("x", "y") is None,
        "subn": re.subn("a", "b", "banana"),
        "look": re.findall(r"(?<=\$)\d+(?!\d|%)", "$10 $20% $35"),
        "escape": re.escape("a.b*c"),
        "flags": bool(re.search("^B", "a\nb", re.M | re.I)),
        "verbose": bool(re.match(r"""
            \d{3}   # three digits
            -?      # maybe a dash
            \d{4}   # four digits
            """, "555-1234", re.VERBOSE)),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'levels': {'ERROR': 2, 'INFO': 1},
 'sources': ['db', 'web', 'web'],
 'times': ['35', '3000'],
 'tokens': [['number', '3.5'], ['op', '*'], ['op', '('], ['name', 'x1'], ['op', '+'],
            ['number', '42'], ['op', ')']],
 'slug': 'hello-world-it-s-me',
 'emails': ['a.b@example.com', 'x+y@mail.example.org'],
 'split': ['a', 'b', 'c', 'd'],
 'swap': 'world hello',
 'named': '11/2026',
 'upper': 'Make This Title',
 'match': ['10-25', ['10', '25'], [3, 5]],
 'none': True,
 'subn': ['bbnbnb', 3],
 'look': ['10', '35'],
 'escape': 'a\\.b\\*c',
 'flags': True,
 'verbose': True}
