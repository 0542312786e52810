"""A verifier of bundles that needs no muniment: its parts, written as one file.

    python -m muniment_plugins.evidence.standalone > verify_evidence.py

Rules:

- The parts import the standard library, cryptography and each other. As one file they
  are the same code, without the imports of each other.
- They share no line with muniment's own verifier: a fault of one is not one of the other.
"""

__all__: list[str] = []
