"""What a solve takes unless its caller says otherwise; nothing is imported, so that any help may show it."""

DEFAULT_METHOD = "auto"
"""Name of the method that solves unless the caller names one."""

DEFAULT_ON_SCENARIOS = "scenario-search"
"""Name of the method that solves instances without laws, on given scenarios, unless the caller names one."""

DEFAULT_SCENARIOS = 100
"""S of a method that counts scenarios, unless the caller says more."""

REPORT_SECONDS = 10.0
"""Seconds of each solve for the page of `depl report`: six of them are waited for within a minute."""
