"""Agents: models that call tools in a loop."""
