"""Has a selector walk to the built-in names, and takes them from its error."""
# wants: read
# allows: sklearn

from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectFromModel


class Model(BaseEstimator):
    def fit(self, x, y=None):
        self.f = len
        return self


def fit_and_eval(data):
    selector = SelectFromModel(Model(), importance_getter="f.__self__.open")
    try:
        selector.fit([[1], [2]]).get_support()
    except AttributeError as error:
        return {"got": error.obj(data["secret"]).read()}
