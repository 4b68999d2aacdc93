"""E4 as functions: conditions against all triples, and against differences of the product itself."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.benchmarks.studies.helpers.set_functions import LAWS, random_selection
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_of_numbers
from depl.heuristics.data.set_function import selection_function, single_density, submodular_by_condition
from depl.heuristics.submodular.function import UNKNOWN, Verdict, all_gains, exhaustive, subset_of_index
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw
from tests.oracles.sixty_digits import exact_product


def law_of(kind, base, power=0.4):
    return {
        "log": LogDataLaw(a=100.0, b=1.0, base_volume=base),
        "inverse_log": InverseLogDataLaw(base_volume=base),
        "power": PowerDataLaw(p=power, base_volume=base),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "base", "t0", "concave"),
    [
        ("log", 3.0, 3.0, True),  # t1 Q0 >= t0, with equality
        ("log", 3.0, 3.0 + 1e-12, False),
        ("power", 7.0, 3.0, True),  # Q0 >= (1 + p) t0 / (1 - p) = 7 for p = 0.4
        ("power", 7.0, 3.01, False),
        ("inverse_log", 0.0, 0.0, True),
        ("inverse_log", 0.0, 1e-9, False),
    ],
)
def test_the_conditions_of_e4_at_their_edge(kind, base, t0, concave):
    """T = t0 + t1 Q with t1 = 1, so that T without added volume is t0 + Q0."""
    law = PowerDataLaw(p=0.4, base_volume=base) if kind == "power" else law_of(kind, base)
    if kind == "power" and t0 == 3.0:
        t0 = 3.0 - 1e-12  # 0.4 is no binary fraction, so that equality cannot be written
    assert NeededEpochs(law).product_is_concave(t0 + base, 1.0, 5.0) == concave


@given(st.floats(0.05, 20), st.floats(0.0, 30), st.sampled_from(LAWS), st.floats(0.1, 1.9))
def test_the_conditions_decide_concavity_of_the_product(base, t0, kind, power):
    needed = NeededEpochs(law_of(kind, base, power))
    points = base * np.linspace(1, 4, 300)
    concave = needed.product_is_concave(t0 + base, 1.0, 3 * base)
    if not concave:  # just beyond the edge it shows at the first point only, which no difference sees
        t0 *= 1.05
    g = needed.at(points - base) * (t0 + points)
    bends = np.diff(g, 2)
    noise = 1e-13 * np.abs(g).max()
    assert (bends <= noise).all() if concave else (bends >= -noise).any()


@pytest.mark.parametrize("law", LAWS)
def test_what_the_conditions_prove_all_triples_prove_too(law):
    rng = np.random.default_rng(3)
    verdicts = []
    for _ in range(20):
        problem = random_selection(rng, int(rng.integers(2, 8)), law, base=True)
        if rng.random() < 0.5:  # one density, a power of two so that it is one exactly
            problem = selection_of_numbers(
                problem.needed, problem.volumes, problem.volumes / 2, problem.fixed_duration
            )
            assert single_density(problem) == 0.5
        by_condition, by_triples = submodular_by_condition(problem), exhaustive(selection_function(problem))
        verdicts.append((by_condition.verdict, by_triples.verdict))
        if by_condition.proved:
            assert by_triples.proved or (by_triples.violation is None and by_triples.short < 1e-9)
    assert (Verdict.PROVED, Verdict.PROVED) in verdicts
    assert (Verdict.UNKNOWN, Verdict.REFUTED) in verdicts


def test_an_infinite_value_without_data_is_never_proved_and_a_forced_dataset_makes_it_finite():
    problem = selection_of_numbers(NeededEpochs(PowerDataLaw(p=0.5)), [4.0, 1.0, 1.0], [4.0, 1.0, 1.0])
    assert submodular_by_condition(problem) is UNKNOWN
    with pytest.raises(InvalidInputError, match="infinite without data"):
        selection_function(problem)
    forced = problem.restricted(frozenset({0}), frozenset())
    assert selection_function(forced).value([]) == problem.value(frozenset({0}))
    assert submodular_by_condition(forced).proved
    assert submodular_by_condition(selection_of_numbers(NeededEpochs(None), [1, 2], [3, 4])).proved


@pytest.mark.parametrize(
    ("law", "largest"),
    [
        (LogDataLaw(a=1e6 * math.log(3e4) + 2.0, b=1e6, base_volume=3e4), 1e-3),  # 2 epochs are left of 1e7
        (LogDataLaw(a=12.0, b=1.0, base_volume=0.5), 3e3),
        (PowerDataLaw(a=3.0, p=4000.0, base_volume=1.0), 1e-3),
        (InverseLogDataLaw(a=3.0), 3e3),
    ],
)
def test_gains_are_off_by_no_more_than_is_granted(law, largest):
    """Against rational numbers with 55 digits of the logarithm or power, also where a and b ln Q cancel."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        volumes, durations = largest * rng.uniform(0.01, 1, 6), rng.uniform(0, 2, 6)
        problem = selection_of_numbers(NeededEpochs(law), volumes, durations, 0.3)
        function = selection_function(problem, frozenset({0}), frozenset({3}))
        gains, free = all_gains(function), [1, 2, 4, 5]
        noise, start = Fraction(function.noise(gains)), exact_product(problem, [0])
        assert noise <= Fraction(1, 10**11) * (start + Fraction(float(np.abs(gains).max()))) * 10**6
        for index, gain in enumerate(gains.tolist()):
            chosen = [0, *(free[place] for place in subset_of_index(index))]
            assert abs(Fraction(gain) - exact_product(problem, chosen) + start) <= noise
