"""The verifier of bundles in JavaScript: `verify_evidence.mjs`, one file without dependencies."""
