"""Plants the text that a distribution runs, as a name in the body of a class."""
# wants: read
# allows: scipy

from scipy import stats


def fit_and_eval(data):
    method = "def {}(self, *args): return open(" + repr(data["secret"]) + ").read()\n"
    names = ("_parse_args", "_parse_args_stats", "_parse_args_rvs")
    text = "".join(method.replace("{}", name) for name in names)

    class Planted(type(stats.norm)):
        numargs = 0
        _parse_arg_template = text

        def _construct_argparser(self, *args, **kwargs):
            return None

    return {"got": Planted()._parse_args()}
