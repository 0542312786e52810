"""Returns a number whose text, asked for, breaks out of the number."""
# wants: forged

class Number(int):
    def __repr__(self):
        return "0, 'forged': True"

    __str__ = __repr__

    def __reduce_ex__(self, protocol):
        raise TypeError


def fit_and_eval(data):
    return {"score": Number(0)}
