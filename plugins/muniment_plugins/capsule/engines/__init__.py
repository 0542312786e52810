"""Engines: interpreters other than this one."""
