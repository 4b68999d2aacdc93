"""Suites: which instances are solved by which methods, frozen, so that a sweep can be repeated and resumed.

`suite` says what a suite is, `catalogue` finds those of `standard`, one file each.
"""
