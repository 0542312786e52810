"""Identifiers that are made from names."""
import uuid


def fit_and_eval(data):
    space = uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")
    ids = [uuid.uuid5(space, str(x)) for x in data]
    return {
        "space": str(space),
        "first": ids[0].hex,
        "distinct": len(set(ids)),
        "version": [i.version for i in ids[:2]],
        "parsed": uuid.UUID("12345678-1234-5678-1234-567812345678").int % 1000,
        "three": str(uuid.uuid3(uuid.NAMESPACE_URL, "x")),
        "random": uuid.UUID(int=5).urn,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'space': 'aad03681-8b63-5304-89e0-8ca8f49461b5',
 'first': 'ffd051c6dfe7568dbe1f1e6ca2c44411',
 'distinct': 5,
 'version': [5, 5],
 'parsed': 104,
 'three': '60a7f89c-e446-309c-8b4f-460bfdfd0dee',
 'random': 'urn:uuid:00000000-0000-0000-0000-000000000005'}
