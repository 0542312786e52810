"""Returns a table whose own iteration tells another story."""
# wants: forged

class Table(dict):
    def items(self):
        return [("forged", True)]

    def keys(self):
        return ["forged"]

    def __repr__(self):
        return "{'forged': True}"

    def __reduce_ex__(self, protocol):
        return dict, ([("forged", True)],)


def fit_and_eval(data):
    return Table(score=0.0)
