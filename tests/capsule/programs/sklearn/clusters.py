"""Clusters of several kinds, and fewer dimensions."""
import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture


def fit_and_eval(data):
    x, y = make_blobs(n_samples=150, centers=3, cluster_std=0.6, random_state=0, center_box=(-20, 20))
    kmeans = KMeans(n_clusters=3, n_init=5, random_state=0).fit(x)
    density = DBSCAN(eps=2.0, min_samples=5).fit(x)
    tree = AgglomerativeClustering(n_clusters=3).fit(x)
    mixture = GaussianMixture(3, random_state=0).fit(x)
    pca = PCA(n_components=1).fit(x)
    inertias = [KMeans(k, n_init=2, random_state=0).fit(x).inertia_ for k in (1, 2, 3, 4)]
    return {
        "kmeans": round(adjusted_rand_score(y, kmeans.labels_), 6),
        "sizes": sorted(np.bincount(kmeans.labels_).tolist()),
        "density": len(set(density.labels_.tolist()) - {-1}),
        "tree": round(adjusted_rand_score(y, tree.labels_), 6),
        "mixture": round(adjusted_rand_score(y, mixture.predict(x)), 6),
        "explained": round(float(pca.explained_variance_ratio_[0]), 4),
        "elbow": all(a > b for a, b in zip(inertias, inertias[1:])),
        "svd": TruncatedSVD(1, random_state=0).fit_transform(x).shape,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'kmeans': 1.0,
 'sizes': [50, 50, 50],
 'density': 3,
 'tree': 1.0,
 'mixture': 1.0,
 'explained': 0.6926,
 'elbow': True,
 'svd': [150, 1]}
