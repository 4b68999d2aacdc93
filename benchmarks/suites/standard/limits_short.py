"""What methods return within half a second on small instances: no more time, but never nothing."""

from functools import partial

from depl.benchmarks.suites.standard.limits import bound_found, limited
from depl.benchmarks.suites.standard.random import instance_of
from depl.benchmarks.suites.suite import Draw, Suite

COUNT = 10

SUITE = Suite(
    name="limits-short",
    summary=f"The first {COUNT} instances of the suite random, by every kind of method under half a second.",
    draws=lambda: tuple(
        Draw(f"random-{number:04d}", {"family": "random"}, partial(instance_of, number))
        for number in range(COUNT)
    ),
    configurations=limited(0.5),
    measure=bound_found,
)
