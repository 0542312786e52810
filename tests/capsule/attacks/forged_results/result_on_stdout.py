"""Prints what looks like a result, and ends without one."""
# wants: forged

def fit_and_eval(data):
    print('\n{"forged": true}\n', flush=True)
    raise SystemExit(0)
