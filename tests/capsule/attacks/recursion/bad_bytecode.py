"""Runs instructions that no compiler would write."""
# wants: crash

import opcode


def fit_and_eval(data):
    extended, load = opcode.opmap["EXTENDED_ARG"], opcode.opmap["LOAD_CONST"]
    far = [extended, 127, extended, 255, extended, 255, load, 255]
    code = fit_and_eval.__code__.replace(co_code=bytes(far))
    return type(fit_and_eval)(code, {})(data)
