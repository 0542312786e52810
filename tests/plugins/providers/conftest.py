"""What the tests of providers share: a model server, and a desk beside it."""

from desk_fixtures import desk, environment, places, server

__all__ = ["desk", "environment", "places", "server"]
