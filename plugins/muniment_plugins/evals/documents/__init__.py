"""What people write: fixtures, manifests, packs."""
