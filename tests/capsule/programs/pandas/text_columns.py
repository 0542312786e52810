"""Text in columns: cleaning, splitting, extracting, counting, replacing."""
import pandas as pd


def fit_and_eval(data):
    s = pd.Series(["  Ada Lovelace ", "bob builder", "Cy-99", None])
    emails = pd.Series(["a@x.org", "b@y.com", "nobody"])
    clean = s.str.strip().str.title()
    parts = clean.str.split(" ", expand=True)
    extracted = emails.str.extract(r"(?P<user>\w+)@(?P<host>[\w.]+)")
    return {
        "clean": clean.fillna("?").tolist(),
        "first": parts[0].fillna("").tolist(),
        "contains": emails.str.contains("@").tolist(),
        "extracted": extracted.fillna("").values.tolist(),
        "length": s.str.len().fillna(0).astype(int).tolist(),
        "replaced": emails.str.replace(r"\.\w+$", ".net", regex=True).tolist(),
        "upper": emails.str.upper().tolist(),
        "counts": emails.str.count("[ao]").tolist(),
        "slices": emails.str[0].tolist(),
        "padded": pd.Series(["1", "22"]).str.zfill(3).tolist(),
        "joined": emails.str.cat(sep="|"),
        "found": emails.str.findall(r"\w").str.len().tolist(),
        "dummies": pd.Series(["a|b", "b"]).str.get_dummies().values.tolist(),
        "starts": emails.str.startswith("a").tolist(),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'clean': ['Ada Lovelace', 'Bob Builder', 'Cy-99', '?'],
 'first': ['Ada', 'Bob', 'Cy-99', ''],
 'contains': [True, True, False],
 'extracted': [['a', 'x.org'], ['b', 'y.com'], ['', '']],
 'length': [15, 11, 5, 0],
 'replaced': ['a@x.net', 'b@y.net', 'nobody'],
 'upper': ['A@X.ORG', 'B@Y.COM', 'NOBODY'],
 'counts': [2, 1, 2],
 'slices': ['a', 'b', 'n'],
 'padded': ['001', '022'],
 'joined': 'a@x.org|b@y.com|nobody',
 'found': [5, 5, 6],
 'dummies': [[1, 1], [0, 1]],
 'starts': [True, False, False]}
