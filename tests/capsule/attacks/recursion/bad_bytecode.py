"""Runs instructions that no compiler would write."""
# wants: crash

def fit_and_eval(data):
    code = fit_and_eval.__code__.replace(co_code=bytes([116, 255] * 20 + [100, 255] * 20 + [83, 0]))
    return type(fit_and_eval)(code, {})(data)
