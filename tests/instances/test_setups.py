"""Setups that are shipped, named, read from files and handed out."""

import json

from depl.instances.setups import load_setup, setup_names
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.epochs import load as epoch_load
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import ConstantImprovement
from tests.cases.fit_cases import SETUP


def test_setups_are_found_by_name_and_path(tmp_path):
    path = tmp_path / "setup.json"
    path.write_text("  // mine\n" + json.dumps(SETUP), encoding="utf-8")
    assert load_setup(path) == load_setup(str(path))
    assert load_setup(path).name == "cut-net"
    for name in setup_names():
        assert load_setup(name).name == name


def test_an_epoch_of_the_closed_loop_costs_what_its_description_says():
    law = ConstantImprovement(noise=Deterministic(value=1.0))
    setup = load_setup("closed-loop")
    instance = setup.with_improvements({model.name: law for model in setup.models}, 3.0)
    for model, cluster, cost in (("pruned-50", "edge", 2.6), ("pruned-75", "far-edge", 1.4)):
        asked = epoch_load(instance, 1, model, cluster, frozenset({"digits"}))
        least = minimum_resources(asked, instance.target.round_deadline)
        assert asked.price * least == cost
        assert f"{cost} on the {cluster.replace('-', ' ')}" in setup.description
