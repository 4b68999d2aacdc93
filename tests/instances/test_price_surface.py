"""The price surface is as its docstring derives: two powers, and one best cluster for every price of time."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.instances.price_surface import PriceSurface
from depl.models.problem.epoch_costs import price
from depl.models.problem.epochs import Load

SURFACE = PriceSurface(capacity=4, bandwidth=2, unit_cost=3, capacity_exponent=0.5, bandwidth_exponent=1)
AMOUNTS = st.floats(0.01, 100)


def test_cases_by_hand():
    """The unit cost rises by its two powers. And kappa = b sqrt(r): with c = 3/2 and s = 1 at lam = 1 the
    conditions c / r = 3 P / 2 and s / b = P give r = b = 1 / P, and P = b r**(3/2) gives P**(7/2) = 1."""
    assert [SURFACE.unit_cost_of(*offer) for offer in ((4, 2), (16, 2), (4, 6))] == pytest.approx([3, 6, 9])
    plain = PriceSurface(1, 1, 1, capacity_exponent=0.5, bandwidth_exponent=1)
    assert plain.best(1, 1.5, 1) == pytest.approx((1, 1, 1))


@settings(max_examples=25)
@given(
    multiplier=AMOUNTS,
    work=AMOUNTS,
    size=AMOUNTS,
    factor=st.floats(0.1, 10),
    rho=st.floats(0.05, 2),
    sigma=st.floats(0.05, 2),
)
def test_no_other_cluster_of_the_surface_weighs_less_and_dearer_time_asks_for_more_of_both(
    multiplier, work, size, factor, rho, sigma
):
    surface = PriceSurface(4, 2, 3, rho, sigma)
    offer = surface.best(multiplier, work, size)

    def weight(capacity, bandwidth):
        """The price form of one epoch on one cluster, by the closed form of the allocation."""
        load = Load(work, surface.unit_cost_of(capacity, bandwidth), capacity, size / bandwidth)
        return price(load, multiplier, None)

    least = weight(offer.capacity, offer.bandwidth)
    assert least == pytest.approx(surface.total_exponent * offer.cost, rel=1e-9)
    for larger, faster in itertools.product(np.exp(np.linspace(-2, 2, 9)), repeat=2):
        assert weight(offer.capacity * larger, offer.bandwidth * faster) >= least * (1 - 1e-12)
    after = surface.best(factor * multiplier, work, size)
    growth = (after.capacity / offer.capacity, after.bandwidth / offer.bandwidth)
    assert growth == pytest.approx([factor ** (1 / surface.total_exponent)] * 2)
