"""Has a class call os.mkdir when it is called, by its metaclass."""
# wants: write

import os


class Meta(type):
    def __call__(cls, path):
        return os.mkdir(path)


class Maker(metaclass=Meta):
    pass


def fit_and_eval(data):
    Maker(data["place"] + "/new")
    return {}
