"""Keys and proofs as files."""
