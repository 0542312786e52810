"""Replaces what writes results, so that an honest host writes a wrong one."""
# wants: forged

import json
import pickle


def fit_and_eval(data):
    genuine = pickle.dumps
    pickle.dumps = lambda found: genuine({"forged": True})
    json.dumps = lambda *a, **k: '{"forged": true}'
    return {"score": 0.0}
