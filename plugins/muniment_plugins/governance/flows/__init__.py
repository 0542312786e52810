"""Flows: manifests as programs, which take their steps one after the other."""
