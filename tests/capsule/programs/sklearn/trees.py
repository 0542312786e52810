"""Decision trees: depth, importance, rules as text, regression."""
import numpy as np
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text


def fit_and_eval(data):
    x, y = make_classification(n_samples=200, n_features=4, n_informative=2, n_redundant=0, random_state=0)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    regressor = DecisionTreeRegressor(random_state=0).fit(np.array(data).reshape(-1, 1), data)
    return {
        "depth": tree.get_depth(),
        "score": round(tree.score(x, y), 4),
        "important": int(tree.feature_importances_.argmax()),
        "rules": export_text(stump, feature_names=["x"]),
        "threshold": float(stump.tree_.threshold[0]),
        "regressed": regressor.predict([[2.4], [9.0]]),
        "leaves": int(stump.get_n_leaves()),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'depth': 3,
 'score': 0.96,
 'important': 3,
 'rules': '|--- x <= 1.50\n|   |--- class: 0\n|--- x >  1.50\n|   |--- class: 1\n',
 'threshold': 1.5,
 'regressed': [2.0, 5.0],
 'leaves': 2}
