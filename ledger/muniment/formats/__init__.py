"""The bytes that outsiders read: statements, envelopes, notes, proofs, tables."""
