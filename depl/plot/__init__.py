"""Pictures of what is planned: an instance, a plan, a policy, a front, answers of several methods, and runs.

One function a file. Each takes the thing to draw and, if there are, axes of matplotlib to draw on; it returns
the axes, and so can be put into a figure of one's own. matplotlib is imported when something is drawn.

>>> import depl
>>> problem = depl.load("tiny")
>>> upper, lower = depl.plot.plan(problem, depl.solve(problem).plan)
>>> lower.get_xlabel()
'epoch'
"""

from depl.plot.compare import compare
from depl.plot.front import front
from depl.plot.instance import instance
from depl.plot.plan import plan
from depl.plot.policy import policy
from depl.plot.traces import traces

__all__ = ["compare", "front", "instance", "plan", "policy", "traces"]


def __dir__() -> list[str]:
    """The functions that draw."""
    return sorted(__all__)
