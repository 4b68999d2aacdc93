"""Flows in 64-bit and in Python integers, against scipy and each other; forged certificates are refused."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from depl.benchmarks.cases.set_functions.random_set_functions import (
    SUBMODULAR,
    random_coverage,
    random_cut,
    random_real_cut,
)
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.certificate import FlowCertificate
from depl.heuristics.set_functions.graphs import GraphFunction, _as_integers, cut
from depl.heuristics.set_functions.max_flow import max_flow
from depl.models.foundation.errors import InvalidInputError


@pytest.mark.parametrize("seed", range(6))
def test_the_value_of_a_cut_is_what_scipy_lets_flow(seed: int) -> None:
    """f(S) - f(0) less the sum of negative u is the capacity of the cut, and the flow is as large."""
    function = random_cut(np.random.default_rng(seed), 60)
    source, sink = 60, 61
    takes = function.modular < 0
    tails = np.concatenate([function.tails, np.where(takes, source, np.arange(60))])
    heads = np.concatenate([function.heads, np.where(takes, np.arange(60), sink)])
    limits = np.concatenate([function.capacities, np.abs(function.modular)]).astype(np.int32)
    matrix = csr_array((limits, (tails, heads)), shape=(62, 62))
    matrix.sum_duplicates()
    flow = maximum_flow(matrix, source, sink).flow_value
    found = max_flow(function)
    assert found.value == flow + function.modular[takes].sum()
    assert found.optimal
    assert found.certificate.arcs.dtype == np.int64


@pytest.mark.parametrize("family", ["cut", "cut with real data", "grid cut", "coverage", "quadratic"])
def test_integers_of_any_length_give_the_same_flow(family: str, monkeypatch) -> None:
    for seed in range(4):
        function = SUBMODULAR[family](np.random.default_rng(seed), 12)
        short = max_flow(function)
        with monkeypatch.context() as changed:
            changed.setattr(GraphFunction, "integers", property(lambda self: self.integer_parts))
            long = max_flow(function)
        assert long.certificate.arcs.dtype == object
        assert (short.subset, short.value, short.iterations) == (long.subset, long.value, long.iterations)
        assert short.certificate.arcs.tolist() == long.certificate.arcs.tolist()
        assert short.certificate.shares.tolist() == long.certificate.shares.tolist()
        assert short.value == pytest.approx(brute_force(function).value, rel=1e-12, abs=1e-12)


def test_parallel_and_opposite_arcs_share_a_flow_and_keep_their_capacities() -> None:
    rng = np.random.default_rng(3)
    for scale in (1.0, 0.1):  # whole data, and data of many bits
        arcs = [tuple(rng.choice(5, 2, replace=False)) for _ in range(40)]
        function = cut(5, arcs, scale * rng.integers(0, 4, 40), scale * np.array([-19, 7, -8, 12, 9]))
        found = max_flow(function)
        assert found.value == pytest.approx(brute_force(function).value, rel=1e-12)
        assert found.optimal
        flows = [Fraction(int(y), found.certificate.denominator) for y in found.certificate.arcs]
        limits = [Fraction(c) for c in function.capacities.tolist()]
        assert all(0 <= y <= limit for y, limit in zip(flows, limits, strict=True))
        assert sum(y > 0 for y in flows) >= 3


def test_certificates_in_other_units_say_the_same() -> None:
    for draw in (random_cut, random_real_cut, random_coverage):
        function = draw(np.random.default_rng(9), 20)
        own = max_flow(function).certificate
        finer = FlowCertificate(
            own.arcs.astype(object) * 3, own.shares.astype(object) * 3, own.denominator * 3
        )
        assert finer.bound(function) == own.bound(function)


def test_flows_of_64_bits_that_overflow_are_refused() -> None:
    function = random_coverage(np.random.default_rng(2), 8)
    own = max_flow(function).certificate
    shares = own.shares.copy()
    shares[:2] = 2**63 - 1
    with pytest.raises(InvalidInputError, match="flow"):
        FlowCertificate(own.arcs, shares, own.denominator).bound(function)
    arcs = own.arcs if len(own.arcs) else np.array([1])
    with pytest.raises(InvalidInputError, match="flow"):
        FlowCertificate(np.append(arcs, 1), own.shares, own.denominator).bound(function)


def test_floats_become_integers_as_fractions_do() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate(
        [rng.normal(0, 1, 50) * 10.0 ** rng.integers(-9, 9, 50), [0.0, -0.5, 2.0**-40, 3.0]]
    )
    denominator = max(Fraction(value).denominator for value in values.tolist())
    exact = [int(Fraction(value) * denominator) for value in values.tolist()]
    assert _as_integers(values, denominator).tolist() == exact
