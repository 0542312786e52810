"""Plants the text that a distribution runs in a class that it is mixed with."""
# wants: read
# allows: scipy

from scipy import stats


def fit_and_eval(data):
    method = "def {}(self, *args): return open(" + repr(data["secret"]) + ").read()\n"
    names = ("_parse_args", "_parse_args_stats", "_parse_args_rvs")
    text = "".join(method.replace("{}", name) for name in names)

    class Mixin:
        numargs = 0
        _parse_arg_template = text

        def _construct_argparser(self, *args, **kwargs):
            return None

    class Planted(Mixin, stats.rv_continuous):
        pass

    return {"got": Planted()._parse_args()}
