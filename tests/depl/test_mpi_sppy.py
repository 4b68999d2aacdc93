"""The extensive form of mpi-sppy has the optimum of ``milp``; what it is given says what it needs."""

import math

import numpy as np
import pyomo.environ as pyo
import pytest

import depl
from depl.instances.generator import random_instance
from depl.models.foundation.errors import InvalidInputError
from depl.models.programs.highs import solve_program
from depl.mpi_sppy import (
    chance_level,
    extensive_form,
    inparser_adder,
    kw_creator,
    scenario_creator,
    scenario_denouement,
    scenario_names_creator,
)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))]
)
def test_the_extensive_form_has_the_optimum_of_the_method(seed):
    sizes = {"models": (2, 2), "clusters": (2, 2), "datasets": (1, 2), "maximum_epochs": (2, 3)}
    instance = random_instance(np.random.default_rng(seed), **sizes)
    wanted = depl.solve(instance, "milp", scenarios=6)
    assert wanted.plan.epochs, "choose a seed whose instance has a plan that trains"
    answer = solve_program(extensive_form(depl.program(instance, 6)))
    assert answer.proved
    assert answer.objective == pytest.approx(wanted.cost, rel=1e-6)


@pytest.mark.parametrize(("omega", "size"), [(0.9, 10), (0.7, 7), (0.95, 20), (0.99, 3), (0.5, 1)])
def test_the_chance_level_lets_as_many_scenarios_miss_as_constraint_3(omega, size):
    model = pyo.ConcreteModel()
    model.quantile_level = pyo.Param(initialize=omega)
    model.scenarios = pyo.Set(initialize=range(1, size + 1))
    alpha, allowed = chance_level(model), math.floor(round((1 - omega) * size, 9))
    assert allowed < alpha * size < allowed + 1
    assert math.ceil((1 - alpha) * size) == size - allowed


def test_a_scenario_has_its_own_rows_alone_and_tells_probability_and_first_stage(tiny):
    program = depl.program(tiny, 8)
    before = sorted(program.eq3_quantile)
    names = scenario_names_creator(8)
    assert scenario_names_creator(2, 3) == names[3:5] == ["scenario4", "scenario5"]
    for name in names:
        model = scenario_creator(name, program=program)
        number = int(name.removeprefix("scenario"))
        assert list(model.eq3_quantile) == [s for s in before if s == number]
        assert model._mpisppy_probability == 1 / 8
        assert model.find_component("eq3_misses") is None
        (node,) = model._mpisppy_node_list
        assert {item.parent_component().name for item in node.nonant_vardata_list} == {"w", "q"}
        assert model.met.is_binary()
        scenario_denouement(0, name, model)
    assert sorted(program.eq3_quantile) == before  # the program itself is left alone


def test_a_scenario_that_every_plan_misses_is_not_met(tiny):
    program = depl.program(tiny, 8)
    program.del_component(program.missed_anyway)
    program.missed_anyway = pyo.Set(initialize=[9])
    program.scenarios.add(9)
    assert pyo.value(scenario_creator("scenario9", program=program).met_or_missed.upper) == 0


def test_the_command_line_of_mpi_sppy_finds_the_instance():
    from mpisppy.utils.config import Config

    cfg = Config()
    inparser_adder(cfg)
    cfg.num_scens, cfg.instance, cfg.scenario_seed = 5, "tiny", 0
    assert len(kw_creator(cfg)["program"].scenarios) == 5


def test_unknown_scenarios_and_a_missing_program_are_refused(tiny):
    program = depl.program(tiny, 8)
    for name, words in (("scenario9", "'scenario9'; there are scenario1 to scenario8"), ("s1", "no s")):
        with pytest.raises(InvalidInputError, match=words):
            scenario_creator(name, program=program)
    with pytest.raises(InvalidInputError, match="scenario_creator_kwargs"):
        scenario_creator("scenario1")
