"""Reads a file through a vectorizer, whose input it calls a file name."""
# wants: read
# allows: sklearn.feature_extraction.text

from sklearn.feature_extraction.text import CountVectorizer


def fit_and_eval(data):
    v = CountVectorizer(input="filename").fit([data["secret"]])
    return {"got": list(v.vocabulary_)}
