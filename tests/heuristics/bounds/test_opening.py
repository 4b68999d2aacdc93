"""Shares of single clusters: allowed, and such that no epoch costs less than before on any set."""

import numpy as np
import pytest

from depl.heuristics.bounds.outlook import Opening


def drawn(rng: np.random.Generator) -> Opening:
    """Three clusters with two rows each, four volumes, stretches of 4, 6, 2 and, idle, 3 epochs."""
    costs = rng.uniform(-3, -1, (4, 6, 4))
    costs[-1] += 3
    transfers = rng.uniform(0.5, 4, (6, 4)) * (rng.random((6, 4)) < 0.9)
    return Opening(np.array([0, 2, 4]), costs, transfers, np.array([4, 6, 2, 3]))


def values(opening: Opening, shares: np.ndarray) -> np.ndarray:
    """What an epoch of every stretch costs at least if clusters are charged in some shares."""
    rows = np.diff(np.append(opening.firsts, len(opening.transfers)))
    each = np.repeat(shares, rows, axis=1)[:, :, None] * opening.transfers
    return (opening.costs + each).min(axis=(1, 2))


@pytest.mark.parametrize("seed", range(6))
def test_shares_are_allowed_and_raise_what_all_epochs_cost(seed: int) -> None:
    opening = drawn(np.random.default_rng([22, seed]))
    shares = opening.raised()
    assert shares.shape == (4, 3)
    assert (shares >= 0).all()
    assert (opening.counts @ shares <= 1 + 1e-9).all()
    equal = np.full((4, 3), 1 / 15)
    trained = opening.counts[:3]
    assert trained @ values(opening, shares)[:3] >= trained @ values(opening, equal)[:3] - 1e-9


def test_two_clusters_that_are_best_in_one_half_each_pay_everything_there() -> None:
    """In equal shares each would pay half of its transfers."""
    costs = np.array([[[-2.0], [-1.0]], [[-1.0], [-2.0]], [[5.0], [5.0]]])
    transfers = np.array([[0.8], [0.8]])
    opening = Opening(np.array([0, 1]), costs, transfers, np.array([2, 2, 0]))
    shares = opening.raised()
    assert np.diag(shares[:2]) == pytest.approx([0.5, 0.5], abs=1e-3)
    assert values(opening, shares)[:2] == pytest.approx([-1.6, -1.6], abs=1e-3)
