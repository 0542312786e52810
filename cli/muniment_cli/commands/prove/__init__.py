"""Commands that prove, and that check proofs."""
