"""Writes the drawing of a tree to a file."""
# wants: write
# allows: sklearn.tree

from sklearn.tree import DecisionTreeClassifier, export_graphviz


def fit_and_eval(data):
    tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    export_graphviz(tree, out_file=data["place"] + "/new")
    return {}
