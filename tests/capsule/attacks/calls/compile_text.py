"""Compiles statements and runs them as the body of a function."""
# wants: read

def fit_and_eval(data):
    code = compile("def f(p): return open(p).read()", "x", "exec").co_consts[0]
    return {"got": type(fit_and_eval)(code, {"open": open})(data["secret"])}
