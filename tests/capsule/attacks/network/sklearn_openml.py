"""Has a data set fetched from an address."""
# wants: network
# allows: sklearn.datasets

import sklearn.datasets


def fit_and_eval(data):
    from sklearn.datasets import _base

    remote = _base.RemoteFileMetadata("x", f"http://127.0.0.1:{data['port']}/x", "0")
    _base._fetch_remote(remote, data["place"], n_retries=0)
    return {}
