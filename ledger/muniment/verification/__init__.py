"""The checks of the verifier, one module for each part of a ledger file.

Rules: these modules read the file through their own connection and import formats only
(canonical bytes, keys, trees, signatures, checkpoints, the layout): nothing that writes.
"""

__all__: list[str] = []
