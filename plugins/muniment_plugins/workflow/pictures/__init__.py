"""Graphs as pictures: Mermaid and SVG."""
