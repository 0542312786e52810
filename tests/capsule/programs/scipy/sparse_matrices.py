"""Sparse matrices: building, products, solving, eigenvalues and graphs."""
import numpy as np
from scipy import sparse
from scipy.sparse import coo_matrix, csr_matrix, diags, eye, lil_matrix
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree, shortest_path
from scipy.sparse.linalg import cg, eigsh, spsolve


def fit_and_eval(data):
    n = 50
    laplacian = diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n), format="csc")
    x = spsolve(laplacian, np.ones(n))
    solution, info = cg(laplacian, np.ones(n), rtol=1e-10)
    values = eigsh(laplacian, k=2, which="LM", return_eigenvectors=False, v0=np.ones(n))
    m = coo_matrix(([1, 2, 3], ([0, 1, 1], [1, 0, 2])), shape=(3, 3)).tocsr()
    editable = lil_matrix((2, 2))
    editable[0, 1] = 5
    graph = csr_matrix([[0, 1, 4, 0], [0, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    components, labels = connected_components(graph, directed=False)
    return {
        "middle": round(float(x[n // 2]), 6),
        "cg": [int(info), bool(np.allclose(solution, x))],
        "largest": np.round(np.sort(values), 6),
        "nnz": m.nnz,
        "dense": (m @ m.T).toarray(),
        "row": m.getrow(1).toarray().ravel().tolist(),
        "editable": editable.tocsr().sum(),
        "identity": (eye(3) * 2).diagonal(),
        "distances": dijkstra(graph, indices=0)[:3],
        "components": [int(components), labels.tolist()],
        "tree": minimum_spanning_tree(graph).sum(),
        "stacked": sparse.vstack([m, m]).shape,
        "density": m.nnz / np.prod(m.shape),
        "path": shortest_path(graph, unweighted=True)[0, 2],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'middle': 325.0,
 'cg': [0, True],
 'largest': [3.984841, 3.996207],
 'nnz': 3,
 'dense': [[1, 0, 0], [0, 13, 0], [0, 0, 0]],
 'row': [2, 0, 3],
 'editable': 5.0,
 'identity': [2.0, 2.0, 2.0],
 'distances': [0.0, 1.0, 3.0],
 'components': [2, [0, 0, 0, 1]],
 'tree': 3.0,
 'stacked': [6, 3],
 'density': 0.3333333333333333,
 'path': 1.0}
