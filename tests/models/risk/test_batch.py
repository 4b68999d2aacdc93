"""Verdicts on unusual sums: very many equal terms, none at all, the same twice, and sizes at the limits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_margin, certified_quantile, certified_violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict, certified_verdict

BUDGET = Fraction(1, 20)
LAWS = {
    "normal": Normal(mean=1.0, variance=0.2),
    "inverse gamma": InverseGamma(shape=3.0, scale=2.0),
    "lognormal": Lognormal(mean=1.0, variance=0.5),
    "student t": StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.2),
    "cut student t": StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.2, lower=-1.0, upper=1.0),
    "atoms": Empirical(values=(0.0, 1.0, 3.0)),
}
BELL = Term(-1.0, LAWS["normal"])


def verdicts(losses: list[FinalLoss], maximum_loss: float) -> list[tuple[Verdict, ...]]:
    """By the batch, by kept labels, and one by one."""
    quick = PreparedVerdicts(maximum_loss, BUDGET).many(LossClasses.of(losses))
    prepared = PreparedVerdicts(maximum_loss, BUDGET)
    return [
        (Verdict(fast), prepared.verdict(loss), certified_verdict(loss, maximum_loss, BUDGET))
        for fast, loss in zip(quick, losses, strict=True)
    ]


@pytest.mark.parametrize("count", [32_767, 32_768, 1_000_000])
def test_equal_terms_may_be_more_than_sixteen_bits_can_count(count):
    """Of n normals with mean 1 and variance 0.2 the sum is normal."""
    edge = count + math.sqrt(0.2 * count) * float(special.ndtri(0.05))
    offsets = (-2.0, -0.1, 0.1, 2.0, -1.0, 1.0)
    losses = [FinalLoss(edge + offset, ((BELL, count),)) for offset in offsets]
    for offset, found in zip(offsets, verdicts(losses, 0.0), strict=True):
        assert set(found) == {Verdict.MET if offset < 0 else Verdict.VIOLATED}


def test_a_term_that_is_listed_twice_counts_twice():
    """For one normal of the two P would be 0.998, for both it is 0.017."""
    once = FinalLoss(4.5, ((BELL, 7),))
    twice = FinalLoss(4.5, ((BELL, 3), (BELL, 4)))
    assert LossClasses.of([twice]).loss(0) == once
    assert all(set(found) == {Verdict.MET} for found in verdicts([twice] * 5, 0.0))
    assert certified_violation(twice, 0.0).upper == pytest.approx(
        certified_violation(once, 0.0).upper, rel=1e-10
    )


@pytest.mark.parametrize("name", LAWS)
def test_terms_that_occur_zero_times_or_weigh_nothing_change_nothing(name):
    absent = ((Term(-1.0, LAWS[name]), 0), (Term(0.0, LAWS[name]), 2))
    alone, more = FinalLoss(3.5, ((BELL, 5),)), FinalLoss(3.5, (*absent, (BELL, 5)))
    assert certified_violation(more, 0.0) == certified_violation(alone, 0.0)
    assert certified_quantile(more, BUDGET) == certified_quantile(alone, BUDGET)
    assert certified_margin(more, BUDGET) == certified_margin(alone, BUDGET)
    assert verdicts([more], 0.0) == verdicts([alone], 0.0)
    nothing = FinalLoss(3.5, absent)
    assert certified_violation(nothing, 3.5).exact == 0
    assert certified_violation(nothing, 3.4).exact == 1
    assert certified_quantile(nothing, BUDGET).exact == Fraction(7, 2)
    assert verdicts([nothing], 3.5)[0][1:] == (Verdict.MET, Verdict.MET)


def test_a_negative_count_is_refused():
    loss = FinalLoss(3.5, ((BELL, 5), (BELL, -1)))
    for evaluate in (certified_violation, lambda item, _: certified_quantile(item, BUDGET)):
        with pytest.raises(InvalidInputError, match="occurs -1 times"):
            evaluate(loss, 0.0)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("exponent", [-300, -200, -160, 160, 200, 300])
@pytest.mark.filterwarnings("error")
def test_losses_beyond_double_precision_are_refused_or_exact(name, exponent):
    """Each factor may be within the limits of a file while their products are not."""
    unit = 10.0**exponent
    loss = FinalLoss(5 * unit, ((Term(-unit, LAWS[name]), 3),))
    if name == "atoms":  # sums of atoms are rational, at any size
        assert certified_violation(loss, 6 * unit).exact == 0 or exponent < 0
        return
    for evaluate in (
        lambda: certified_violation(loss, 3 * unit),
        lambda: certified_quantile(loss, BUDGET),
        lambda: PreparedVerdicts(3 * unit, BUDGET).verdict(loss),
        lambda: certified_verdict(loss, 3 * unit, BUDGET),
    ):
        with pytest.raises(InvalidInputError, match="rescale"):
            evaluate()


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("exponent", [-66, 66, *(pytest.param(n, marks=pytest.mark.slow) for n in (-20, 20))])
def test_the_unit_of_the_loss_does_not_matter(name, exponent):
    """Powers of two of about 1e-66 to 1e66: the same digits; atoms have an absolute tolerance of 1e-9."""
    unit = 2.0 ** round(exponent * math.log2(10))
    one = FinalLoss(5.0, ((Term(-1.0, LAWS[name]), 3), (BELL, 2)))
    other = FinalLoss(5 * unit, ((Term(-unit, LAWS[name]), 3), (Term(-unit, LAWS["normal"]), 2)))
    known, found = certified_violation(one, 1.5), certified_violation(other, 1.5 * unit)
    assert found.lower <= known.upper
    assert known.lower <= found.upper
    assert found.width <= 2 * known.width + 1e-9


def test_losses_with_an_increment_that_has_no_transform_are_left_to_others():
    """A lognormal that raises the loss has no exponential moment; without it the batch decides."""
    rise = Term(1.0, LAWS["lognormal"])
    for times in (1, 2):
        losses = [FinalLoss(constant, ((BELL, 7), (rise, n))) for constant in (1.0, 9.0) for n in (0, times)]
        found = PreparedVerdicts(0.0, BUDGET).many(LossClasses.of(losses * 5)).reshape(5, 2, 2)
        assert np.all(found[:, 0, 0] == Verdict.MET)
        assert np.all(found[:, 1, 0] == Verdict.VIOLATED)
        assert np.all(found[:, :, 1] == Verdict.UNDECIDED)
