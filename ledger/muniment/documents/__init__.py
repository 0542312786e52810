"""Documents that people write: read, checked key by key, and refused with their place."""
