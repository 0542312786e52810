"""What text can do: cut, join, count, translate, test."""
def caesar(text, shift):
    return "".join(
        chr((ord(c) - ord("a") + shift) % 26 + ord("a")) if c.islower() else c for c in text
    )


def is_palindrome(text):
    cleaned = [c.lower() for c in text if c.isalnum()]
    return cleaned == cleaned[::-1]


def fit_and_eval(data):
    text = "  The quick brown fox jumps over the lazy dog.  "
    words = text.split()
    table = str.maketrans("aeiou", "AEIOU", "T")
    return {
        "strip": text.strip(),
        "title": "hello world".title(),
        "words": len(words),
        "longest": max(words, key=len),
        "translate": text.strip().translate(table),
        "count": text.lower().count("the"),
        "find": [text.find("fox"), text.find("cat"), text.index("quick")],
        "replace": "aaa".replace("a", "b", 2),
        "partition": "key=value=x".partition("="),
        "rpartition": "a.b.c".rpartition("."),
        "lines": "a\nb\r\nc".splitlines(),
        "pad": ["7".zfill(3), "x".center(5, "-"), "ab".ljust(4) + "|", "ab".rjust(4)],
        "tests": ["abc".isalpha(), "12".isdigit(), "a1".isalnum(), "  ".isspace(), "Ab".istitle()],
        "caesar": caesar("hello, world", 3),
        "palindrome": is_palindrome("A man, a plan, a canal: Panama"),
        "prefix": "unhappy".removeprefix("un").removesuffix("py"),
        "encode": list("é".encode("utf-8")),
        "case": ["ß".casefold(), "Ab".swapcase(), "ABC".lower()],
        "starts": text.strip().startswith(("A", "The")),
        "expand": "a\tb".expandtabs(4),
        "slices": ["abcdef"[1:4], "abcdef"[::-2], "abcdef"[-2:]],
        "percent": "%5.1f|%-5s|%x" % (3.14159, "ab", 255),
        "join": "-".join(map(str, data)),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'strip': 'The quick brown fox jumps over the lazy dog.',
 'title': 'Hello World',
 'words': 9,
 'longest': 'quick',
 'translate': 'hE qUIck brOwn fOx jUmps OvEr thE lAzy dOg.',
 'count': 2,
 'find': [18, -1, 6],
 'replace': 'bba',
 'partition': ['key', '=', 'value=x'],
 'rpartition': ['a.b', '.', 'c'],
 'lines': ['a', 'b', 'c'],
 'pad': ['007', '--x--', 'ab  |', '  ab'],
 'tests': [True, True, True, True, True],
 'caesar': 'khoor, zruog',
 'palindrome': True,
 'prefix': 'hap',
 'encode': [195, 169],
 'case': ['ss', 'aB', 'abc'],
 'starts': True,
 'expand': 'a   b',
 'slices': ['bcd', 'fdb', 'ef'],
 'percent': '  3.1|ab   |ff',
 'join': '1-2-3-4-5'}
