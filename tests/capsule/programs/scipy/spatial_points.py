"""Trees of points, hulls, distances, triangles and rotations."""
import numpy as np
from scipy.spatial import ConvexHull, Delaunay, KDTree, Voronoi, distance, distance_matrix
from scipy.spatial.distance import cdist, cosine, euclidean, pdist, squareform
from scipy.spatial.transform import Rotation


def fit_and_eval(data):
    points = np.array([[0, 0], [4, 0], [4, 3], [0, 3], [1, 1], [2, 2]], dtype=float)
    tree = KDTree(points)
    near, which = tree.query([1.1, 1.1], k=2)
    hull = ConvexHull(points)
    triangles = Delaunay(points)
    turned = Rotation.from_euler("z", 90, degrees=True).apply([1, 0, 0])
    return {
        "near": [np.round(near, 6).tolist(), which.tolist()],
        "radius": sorted(tree.query_ball_point([0, 0], 2)),
        "hull": [float(hull.volume), float(hull.area), sorted(hull.vertices.tolist())],
        "triangles": len(triangles.simplices),
        "inside": (triangles.find_simplex([[1, 2], [9, 9]]) >= 0).tolist(),
        "voronoi": len(Voronoi(points).vertices),
        "pdist": np.round(pdist(points[:3]), 6),
        "square": squareform(pdist(points[:3])).shape,
        "cdist": cdist(points[:1], points[1:3], "cityblock"),
        "cosine": round(float(cosine([1, 0], [1, 1])), 6),
        "euclidean": euclidean([0, 0], [3, 4]),
        "matrix": distance_matrix(points[:2], points[:2]).round(6),
        "hamming": float(distance.hamming([1, 0, 1], [1, 1, 1])),
        "turned": np.round(turned, 6) + 0.0,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'near': [[0.141421, 1.272792], [4, 5]],
 'radius': [0, 4],
 'hull': [12.0, 14.0, [0, 1, 2, 3]],
 'triangles': 6,
 'inside': [True, False],
 'voronoi': 6,
 'pdist': [4.0, 5.0, 3.0],
 'square': [3, 3],
 'cdist': [[4.0, 7.0]],
 'cosine': 0.292893,
 'euclidean': 5.0,
 'matrix': [[0.0, 4.0], [4.0, 0.0]],
 'hamming': 0.3333333333333333,
 'turned': [0.0, 1.0, 0.0]}
