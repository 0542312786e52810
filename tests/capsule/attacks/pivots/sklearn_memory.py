"""Has a clustering keep its steps in a directory."""
# wants: write
# allows: sklearn.cluster

from sklearn.cluster import AgglomerativeClustering


def fit_and_eval(data):
    model = AgglomerativeClustering(memory=data["place"] + "/new")
    return {"n": model.fit([[0.0], [1.0], [5.0]]).n_clusters_}
