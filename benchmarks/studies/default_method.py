"""Whether the default proves what exact search proves, in little more time, with plans as cheap.

On every instance of the suites ``paper``, ``random``, ``heterogeneous`` and ``digits`` the default,
``auto``, is asked with a limit of 10 seconds, and in the same process exact search and the loop ``depl``
(enumeration where the loss has a memory). What exact search proves in 8 seconds the default should prove in
10, and what it proves in 48 seconds the default should prove in 60 (asked on all but ``heterogeneous``).
CPU time is compared with the faster of the others, where they end with the same proof, else with the same
limit. The shipped instances and the template of ``depl instances new`` are asked with 30 seconds.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.default_rows import GOALS, Question, figures, proved
from depl.benchmarks.suites.catalogue import find_suite
from depl.instances.library import describe, load, parse
from depl.instances.template import template
from depl.models.problem.instance import Instance

_SUITES = ("paper", "random", "heterogeneous", "digits")
_SHORT_ALONE = ("heterogeneous",)
"""There exact search proves nothing at the long limit that the short one does not say."""
_LIMIT, _LONG = 10.0, 60.0
"""Seconds: issue 21."""
_SHIPPED_LIMIT = 30.0
_FEW = 1  # instances in a smoke run
_BRIEF = (0.1, 0.2, 2.0)
"""The limits of a smoke run [s]: too short for its instance, which is asked with the long one, too."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    short, long, shipped = _BRIEF if smoke else (_LIMIT, _LONG, _SHIPPED_LIMIT)
    values = figures(_questions(smoke, short, long), warm=not smoke)
    known = [load("tiny")] if smoke else list(_shipped())
    unproved = sum(not proved(instance, shipped) for instance in known)
    return {
        "limit": short,
        **values,
        "shipped": len(known),
        "shipped_not_proved_count": unproved,
    }


def _questions(smoke: bool, short: float, long: float) -> Iterator[Question]:
    for suite in ("random",) if smoke else _SUITES:
        for draw in find_suite(suite).draws()[: _FEW if smoke else None]:
            yield Question(suite, draw.name, draw.build(), short, None if suite in _SHORT_ALONE else long)


def _shipped() -> Iterator[Instance]:
    """Everything that is shipped with a law, at every target, and the template."""
    started_from = parse(template())
    if isinstance(started_from, Instance):  # not a family
        yield started_from
    for entry in describe():
        for target in entry.targets or (None,):
            instance = load(entry.name) if target is None else load(entry.name, target)
            if instance.declares_laws:
                yield instance


STUDY = Study(
    name="default-method",
    summary="The default against exact search and the loop on four suites: proofs, plans, CPU time.",
    goals=(
        *GOALS,
        Goal("shipped_not_proved_count", "shipped instances and template not proved in 30 s", "==", 0),
    ),
    run=_run,
    seed=20261123,
)
