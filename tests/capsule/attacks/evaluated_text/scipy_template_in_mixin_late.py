"""Plants the text that a distribution runs late, in a class that it was mixed with."""
# wants: read
# allows: scipy

from scipy import stats


def fit_and_eval(data):
    method = "def {}(self, *args): return open(" + repr(data["secret"]) + ").read()\n"
    names = ("_parse_args", "_parse_args_stats", "_parse_args_rvs")
    text = "".join(method.replace("{}", name) for name in names)

    class Mixin:
        numargs = 0
        shapes = None

    class Planted(Mixin, stats.rv_continuous):
        pass

    made = Planted()
    Mixin._construct_argparser = lambda self, *args, **kwargs: None
    Planted._parse_arg_template = None
    del Planted._parse_arg_template
    Mixin._parse_arg_template = text
    del made._parse_arg_template
    made._attach_argparser_methods()
    return {"got": made._parse_args()}
