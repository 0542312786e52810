"""Gives a method of its own the name of a private one, to call that of a library."""
# wants: read
# allows: scipy

from scipy import stats


class Own:
    def _construct_argparser(self):
        return 1

    def _attach_argparser_methods(self):
        return 2

    def _parse_args(self):
        return 3


def fit_and_eval(data):
    text = "loc=__import__('io').open(" + repr(data["secret"]) + ").read()"
    made = [Own(), stats.norm]
    made[1]._construct_argparser([], text, "loc, 1")
    made[1]._attach_argparser_methods()
    return {"got": str(made[1]._parse_args())}
