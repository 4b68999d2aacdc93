"""What a solve takes unless its caller says otherwise; nothing is imported, so that any help may show it."""

DEFAULT_METHOD = "auto"
"""Name of the method that solves unless the caller names one."""

DEFAULT_ON_SCENARIOS = "scenario-search"
"""Name of the method that solves instances without laws, on given scenarios, unless the caller names one."""

DEFAULT_SCENARIOS = 100
"""S of a method that counts scenarios, unless the caller says more."""

FRONTS_AGAINST = ("loss", "time", "probability")
"""What the cost of a front may be against: the values of `depl.models.solving.edge.Budget`."""

FRONT_POINTS = 20
"""Budgets of a front, unless the caller says how many: steps of 5 % of the range."""

REPORT_SECONDS = 10.0
"""Seconds of each solve for the page of `depl report`: six of them are waited for within a minute."""
