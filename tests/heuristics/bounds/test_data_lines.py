"""Lines below the work and the transfers of all sets of data, and the sets that come near them."""

import itertools

import numpy as np
import pytest

from depl.heuristics.bounds.frontier import RATES, corner_lines, tangents


def drawn(seed, datasets=7):
    """Volumes, work and transfers of several magnitudes; some transfers are free."""
    rng = np.random.default_rng([6, 31, seed])
    volumes, work = np.exp(rng.normal(size=(2, datasets)))
    transfers = np.exp(rng.normal(size=datasets)) * (rng.random(datasets) < 0.7)
    return volumes, work, transfers


def all_sets(*columns):
    """Sums over all nonempty sets, one row each."""
    chosen = np.array(list(itertools.product((0, 1), repeat=len(columns[0]))))[1:]
    return np.stack([chosen @ column for column in columns])


def ends_of(volumes, intervals):
    total = volumes.sum() * (1 + 1e-12)
    return np.linspace(volumes.min() * (1 - 1e-12), total, intervals + 1)


@pytest.mark.parametrize("seed", range(3))
def test_no_set_is_below_all_corners_in_any_direction(seed):
    """a c + b F and sqrt(c) + b F of every set are at least those of the best corner, whatever the rates."""
    columns, rng = drawn(seed), np.random.default_rng(seed)
    volume, c, paid = all_sets(*columns)
    for relative, intervals in itertools.product(
        (RATES, np.array([1e-3]), np.geomspace(0.01, 3, 9)), (1, 3, 40)
    ):
        ends = ends_of(columns[0], intervals)
        work, transfers = corner_lines(*columns, ends, relative)
        i = np.minimum(np.searchsorted(ends, volume, side="right") - 1, intervals - 1)
        t = (volume - ends[i]) / (ends[i + 1] - ends[i])
        corner_work = (1 - t) * work[:, 2 * i] + t * work[:, 2 * i + 1]
        corner_paid = (1 - t) * transfers[:, 2 * i] + t * transfers[:, 2 * i + 1]
        for weight, f in itertools.product(np.exp(4 * rng.normal(size=12)), (np.asarray, np.sqrt)):
            least = (f(corner_work) + weight * corner_paid).min(axis=0)
            assert (f(c) + weight * paid >= least * (1 - 1e-9)).all()


def test_free_data_at_home_bend_the_charges_and_the_line_stays_below_them():
    """F(Q) is 0 up to the volume 1 of the home data and then rises: a tangent must not be cut off at 0."""
    costs, volumes = np.array([0.0, 10.0]), np.array([1.0, 1.0])
    for low, high in ((0.5, 1.6), (1 - 1e-3, 1.2), (0.2, 0.9), (1.5, 2.0)):  # middles right and left of 1
        left, right = tangents(volumes, costs, np.array([low, high]))
        inside = np.linspace(low, high, 50)
        assert min(left, right) >= 0
        line = np.interp(inside, [low, high], [left, right])
        assert (line <= np.interp(inside, [0, 1, 2], [0, 0, 10]) + 1e-12).all()
