"""What the tests of the recorder share: a model server, and a desk beside it."""

from desk_fixtures import desk, environment, server

__all__ = ["desk", "environment", "server"]
