"""Lognormal improvements of wide spread with Student-t switches: every law is much work."""

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Lognormal, Normal
from depl.models.risk.lower_bound.switches import TiltedSwitch
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict
from depl.models.solving import methods
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from tests.problems import instance as made
from tests.problems import model, student

NAMES = ("m0", "m1", "m2")
FAR = student(2.0, 0.05, 0.1, -1e4, 1e4)
WILD = student(0.4, 0.05, 0.1, -1e4, 1e4)
NEAR = student(2.0, 0.05, 0.1, -1.0, 1.0)


def heavy(seed):
    """Three models with a switch law of its own between any two, some cut far out."""
    rng = np.random.default_rng(seed)
    means = 0.5 * np.exp(rng.uniform(-0.5, 0.5, 3))
    laws = {}
    for index, pair in enumerate(itertools.permutations(NAMES, 2)):
        reach = 10 ** float(rng.uniform(1, 4)) if index % 2 else None
        degrees = float(rng.uniform(1.5, 4))
        laws[pair] = student(degrees, 0.05, 0.1, None if reach is None else -reach, reach)
    return made(
        *(model(n, Lognormal(mean=mean, variance=mean**2)) for n, mean in zip(NAMES, means, strict=True)),
        switches=laws,
        maximum_loss=8,
        quantile_level=0.95,
        maximum_epochs=12,
        maximum_time=200,
    )


@pytest.fixture
def switches(monkeypatch):
    """What the fake clock says; each switch that is tilted takes a second, and nothing else takes time."""
    now = [0.0]
    tilted = TiltedSwitch.of

    def of(*arguments):
        now[0] += 1
        return tilted(*arguments)

    monkeypatch.setattr(TiltedSwitch, "of", of)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_the_bound_of_heavy_laws_leaves_time_for_a_plan(switches):
    outcome = methods.find("depl").run(heavy(0), Limits(time_limit=5, started=0.0))
    assert switches[0] <= 6
    assert outcome.plan is not None
    assert outcome.termination is Termination.TIME_LIMIT


def losses(law):
    """Some that meet the target of 0 with 0.95, and some that do not."""
    bell = Term(-1.0, Normal(mean=1.0, variance=0.04))
    return [
        FinalLoss(constant, ((bell, count), (Term(1.0, law), 1)))
        for constant in (1.0, 3.0)
        for count in (2, 3)
    ]


@pytest.mark.parametrize("law", [FAR, WILD])
def test_a_contour_is_not_used_for_laws_that_reach_much_farther_than_those_it_was_made_for(law):
    budget = Fraction(1, 20)
    prepared, certain = PreparedVerdicts(0.0, budget), []
    for loss in (*losses(NEAR), *losses(law)):
        certain.append(prepared.verdict(loss))
        found = prepared.violation(loss)
        assert found is None or found[0] <= found[1]
    assert set(certain) == {Verdict.MET, Verdict.VIOLATED}
    fresh = [PreparedVerdicts(0.0, budget).verdict(loss) for loss in losses(law)]
    assert certain[len(losses(NEAR)) :] == fresh
    mixed = [*losses(NEAR), *losses(law)]
    batch = PreparedVerdicts(0.0, budget).many(LossClasses.of(mixed))  # nor for many at once
    for verdict, alone in zip(batch, certain, strict=True):
        assert verdict in (Verdict.UNDECIDED, alone)
    assert np.count_nonzero(batch) >= len(losses(NEAR)) - 1
