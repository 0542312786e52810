"""A run in other people's formats: tables, traces, provenance."""
