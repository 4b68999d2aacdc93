"""What a sweep takes unless its caller says otherwise; nothing is imported, so that any help may show it."""

GRACE = 60.0
"""Seconds beyond the time limit of a method that an attempt has for its instance and the verification."""
