"""Messages classified by words, with a network and neighbours beside."""
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2, f_classif
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.metrics.pairwise import cosine_similarity


def fit_and_eval(data):
    texts = ["win cash now", "cheap cash prize", "meeting at noon", "lunch at noon", "win a prize now", "project meeting notes"]
    spam = [1, 1, 0, 0, 1, 0]
    model = make_pipeline(TfidfVectorizer(), MultinomialNB()).fit(texts, spam)
    vectors = TfidfVectorizer().fit_transform(texts)
    chosen = SelectKBest(chi2, k=3).fit(vectors, spam)
    network = MLPClassifier((8,), solver="lbfgs", random_state=0, max_iter=200).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    neighbours = NearestNeighbors(n_neighbors=2).fit(np.array(data).reshape(-1, 1))
    distances, which = neighbours.kneighbors([[2.2]])
    return {
        "predicted": model.predict(["cash prize", "notes from lunch"]),
        "probability": np.round(model.predict_proba(["cash"])[0], 4),
        "chosen": chosen.get_support().sum(),
        "similar": round(float(cosine_similarity(vectors[2], vectors[3])[0, 0]), 6),
        "network": network.predict([[0, 0], [1, 1]]),
        "neighbours": [np.round(distances[0], 6).tolist(), which[0].tolist()],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'predicted': [1, 0],
 'probability': [0.3213, 0.6787],
 'chosen': 3,
 'similar': 0.618349,
 'network': [0, 1],
 'neighbours': [[0.2, 0.8], [1, 2]]}
