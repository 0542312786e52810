"""Sections that every report has."""
