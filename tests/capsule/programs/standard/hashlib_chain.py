"""Digests and a small chain of blocks."""
import hashlib
import json


class Block:
    def __init__(self, index, data, previous):
        self.index, self.data, self.previous, self.nonce = index, data, previous, 0

    @property
    def digest(self):
        body = json.dumps([self.index, self.data, self.previous, self.nonce])
        return hashlib.sha256(body.encode()).hexdigest()

    def mine(self, difficulty):
        while not self.digest.startswith("0" * difficulty):
            self.nonce += 1
        return self


def build(values, difficulty=2):
    chain = [Block(0, "genesis", "").mine(difficulty)]
    for i, value in enumerate(values, start=1):
        chain.append(Block(i, value, chain[-1].digest).mine(difficulty))
    return chain


def valid(chain):
    return all(b.previous == a.digest for a, b in zip(chain, chain[1:]))


def merkle(leaves):
    level = [hashlib.sha256(leaf.encode()).digest() for leaf in leaves]
    while len(level) > 1:
        if len(level) % 2:
            level.append(level[-1])
        level = [hashlib.sha256(a + b).digest() for a, b in zip(level[::2], level[1::2])]
    return level[0].hex()


def fit_and_eval(data):
    chain = build(data[:3])
    before = valid(chain)
    chain[1].data = "forged"
    hasher = hashlib.new("sha256")
    hasher.update(b"ab")
    hasher.update(b"c")
    return {
        "md5": hashlib.md5(b"hello").hexdigest(),
        "sha1": hashlib.sha1(b"abc").hexdigest(),
        "pieces": hasher.hexdigest() == hashlib.sha256(b"abc").hexdigest(),
        "sha512": hashlib.sha512(b"").hexdigest()[:16],
        "blake": hashlib.blake2b(b"abc", digest_size=8).hexdigest(),
        "valid": [before, valid(chain)],
        "merkle": merkle(["a", "b", "c"])[:16],
        "nonces": [b.nonce for b in chain],
        "size": hasher.digest_size,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'md5': '5d41402abc4b2a76b9719d911017c592',
 'sha1': 'a9993e364706816aba3e25717850c26c9cd0d89d',
 'pieces': True,
 'sha512': 'cf83e1357eefb8bd',
 'blake': 'd8bb14d833d59559',
 'valid': [True, False],
 'merkle': 'd31a37ef6ac14a2d',
 'nonces': [188, 59, 91, 166],
 'size': 32}
