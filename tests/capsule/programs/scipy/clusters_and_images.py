"""Hierarchies of clusters, vector quantisation and labelled images."""
import numpy as np
from scipy import ndimage
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.cluster.vq import kmeans2, whiten
from scipy.fft import dct, fft2, idct


def fit_and_eval(data):
    points = np.array([[0, 0], [0, 1], [10, 10], [10, 11], [20, 0.0]])
    tree = linkage(points, "average")
    image = np.zeros((6, 6), dtype=int)
    image[0:2, 0:2] = 1
    image[4:6, 3:6] = 1
    labels, count = ndimage.label(image)
    centres, assigned = kmeans2(points, points[[0, 2, 4]], minit="matrix")
    return {
        "clusters": fcluster(tree, 3, "maxclust").tolist(),
        "heights": np.round(tree[:, 2], 4),
        "labels": [int(count), ndimage.sum(image, labels, [1, 2]).tolist()],
        "centre": ndimage.center_of_mass(image, labels, 2),
        "blurred": round(float(ndimage.gaussian_filter(image.astype(float), 1).sum()), 6),
        "dilated": int(ndimage.binary_dilation(image).sum()),
        "assigned": assigned.tolist(),
        "whitened": np.round(whiten(points).std(axis=0), 6),
        "dct": bool(np.allclose(idct(dct([1.0, 2, 3, 4])), [1, 2, 3, 4])),
        "fft2": round(float(abs(fft2(image)[0, 0])), 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'clusters': [1, 1, 2, 2, 3],
 'heights': [1.0, 1.0, 14.151, 17.2583],
 'labels': [2, [4.0, 6.0]],
 'centre': [4.5, 4.0],
 'blurred': 10.0,
 'dilated': 19,
 'assigned': [0, 0, 1, 1, 2],
 'whitened': [1.0, 1.0],
 'dct': True,
 'fft2': 10.0}
