"""What the loop searches on under rules of the sites: sites, paths and sequences that keep them."""

import msgspec
import numpy as np
import pytest

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Site, Sites, listed_sites
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.paths.search import least_weight
from depl.models.foundation.errors import InvalidInputError

change = msgspec.structs.replace


def test_sites_that_break_a_rule_are_not_listed_and_never_in_time(tiny):
    archive, sensors = tiny.datasets
    cloud, edge = tiny.clusters
    full, pruned = tiny.models
    ruled = tiny.replace(
        datasets=(archive, change(sensors, clusters=("cloud",))),
        clusters=(cloud, change(edge, memory=1.0)),
        models=(change(full, memory=2.0), pruned),
    )
    both, one, other = (frozenset(names) for names in (("archive", "sensors"), ("archive",), ("sensors",)))
    assert set(listed_sites(ruled)) == {Site(0, both), Site(0, one), Site(0, other), Site(1, one)}
    sites = Sites.of(ruled, [Site(0, both), Site(1, one), Site(1, both)], DataFactors(ruled))
    assert np.isfinite(sites.fastest[0]).tolist() == [[True, False, False], [True, True, False]]
    assert np.isfinite(sites.at(1.0).psi[0]).tolist() == [[True, False, False], [True, True, False]]


def test_searches_over_labels_end_well(tiny):
    """The path problem, against the same with another last model."""
    data, every = frozenset({"archive", "sensors"}), {}
    for last in (("full",), ("pruned",), None):
        ruled = tiny.replace(deployable=last, maximum_loss=8)
        path = least_weight(additive_problem(ruled, data, "cloud")).path
        every[last] = path.weight
        if last is not None:
            assert tiny.models[path.models[-1]].name == last[0]
    assert every[None] == pytest.approx(min(every[("full",)], every[("pruned",)]))


def test_a_path_on_data_that_may_not_be_used_there_is_refused(tiny):
    archive, sensors = tiny.datasets
    moved = tiny.replace(datasets=(archive, change(sensors, clusters=("cloud",))))
    with pytest.raises(InvalidInputError, match="'sensors' may not be used on cluster 'edge'"):
        additive_problem(moved, frozenset({"sensors"}), "edge")


def test_learning_charges_what_a_switch_leads_to(tiny):
    plain, ruled = (Learning.of(tiny.replace(deployable=last)) for last in (None, ("pruned",)))
    assert plain.end_charge == 0
    assert not plain.end_charges.any()
    charge = ruled.end_charge
    assert charge > 12 + 12  # three epochs of ``full`` gain 12 on average, and may be lost
    assert ruled.end_charges.tolist() == [[0, -charge], [charge, 0], [charge, 0]]
    assert np.array_equal(ruled.switch_losses, plain.switch_losses)
