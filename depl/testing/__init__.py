"""Put a method or a law of your own through what is asked of every shipped one; pytest is not needed.

>>> import depl
>>> from depl import testing
>>> testing.check_method("density-greedy", count=2)
>>> testing.check_law(depl.risk.Normal(mean=1.0, variance=0.04))

What does not hold is raised as an `AssertionError` that names the relation and the instance:

>>> def sure(instance, limits):
...     found = depl.solve(instance, "density-greedy")
...     return depl.Outcome(depl.Termination.EXHAUSTED, found.plan, lower_bound=found.cost or 0.0)
>>> depl.register("sure-of-it", sure)
>>> testing.check_method("sure-of-it", count=8)
Traceback (most recent call last):
    ...
depl.testing.problems.BrokenPromiseError: 'sure-of-it' ...
"""

from depl.testing.laws import check_law as check_law
from depl.testing.methods import check_method as check_method
from depl.testing.problems import BrokenPromiseError as BrokenPromiseError
from depl.testing.problems import Problem as Problem
from depl.testing.problems import problems as problems

__all__ = ["BrokenPromiseError", "Problem", "check_law", "check_method", "problems"]


def __dir__() -> list[str]:
    """Both checks, the problems that methods are asked, and the error."""
    return __all__
