"""Flow manifests and policies: files that people write, read without surprises."""
