"""Opening files safely: regular files only, no links."""
