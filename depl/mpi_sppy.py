"""A finished program for mpi-sppy (Knueven et al. 2023), one model per scenario, for its extensive form.

What is decided before the scenario is known (``w`` and ``q``) is the same in all scenarios; all else follows
from it at the least cost, so each scenario may have its own, and the expected cost is that of the plan. The
page *Programs* says what the decomposition of mpi-sppy, which is an extra, cannot do. This file is a module
as ``python -m mpisppy.generic_cylinders --module-name depl.mpi_sppy`` takes it, too.
"""

import math
import re
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import installing

INDICATOR = "met"
"""Name of the variable that is 1 only where a scenario meets the target."""

_NAME = re.compile(r"scenario(\d+)")
_PER_SCENARIO = ("eq3_quantile", "z")


def scenario_names_creator(num_scens: int, start: int | None = None) -> list[str]:
    """The names scenario1, scenario2, ... of so many scenarios, or of those after ``start``."""
    first = start or 0
    return [f"scenario{s}" for s in range(first + 1, first + num_scens + 1)]


def scenario_creator(scenario_name: str, program: pyo.ConcreteModel | None = None) -> pyo.ConcreteModel:
    """The model of one scenario.

    Parameters
    ----------
    scenario_name : str
        Of `scenario_names_creator`.
    program : pyomo.environ.ConcreteModel
        Of `depl.program`; given to mpi-sppy by ``scenario_creator_kwargs={"program": program}``.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With the binary variable ``met``, and what mpi-sppy needs to know of it: probability and first stage.

    Raises
    ------
    InvalidInputError
        If the program is missing or has no such scenario, or mpi-sppy is not installed.
    """
    if program is None:
        raise InvalidInputError('give scenario_creator_kwargs={"program": depl.program(...)}', "program")
    found = _NAME.fullmatch(scenario_name)
    if found is None or int(found[1]) not in program.scenarios:
        known = f"there are scenario1 to scenario{len(program.scenarios)}"
        raise InvalidInputError(f"no scenario {scenario_name!r}; {known}", "scenario_name")
    number, model = int(found[1]), program.clone()
    for name in _PER_SCENARIO:
        component = getattr(model, name)
        for other in [s for s in component if s != number]:
            del component[other]
    if model.find_component("eq3_misses") is not None:
        model.del_component("eq3_misses")
    # the scenario's own rows tie it to what is reached
    model.met = pyo.Var(domain=pyo.Binary, doc="1 only where the scenario meets the target")
    if number in model.undecided:
        model.met_or_missed = pyo.Constraint(expr=model.met + model.z[number] == 1)
    elif number in model.missed_anyway:
        model.met_or_missed = pyo.Constraint(expr=model.met <= 0)
    model.first_stage_cost = pyo.Expression(expr=model.eq2_cost.expr, doc="(2), which no scenario changes")
    model._mpisppy_probability = 1.0 / len(program.scenarios)
    _utilities().attach_root_node(model, model.first_stage_cost, [model.w, model.q])
    return model


def chance_level(program: pyo.ConcreteModel) -> float:
    """``cc_alpha`` of mpi-sppy: the share of scenarios that may miss, and half a scenario.

    With p_s = 1 / S, sum p_s met_s >= 1 - alpha asks for S - floor((1 - omega) S) scenarios that meet the
    target, as (3) does, if alpha is (floor((1 - omega) S) + 1/2) / S: the half keeps rounding away.
    """
    size = len(program.scenarios)
    budget = 1 - Fraction(repr(float(pyo.value(program.quantile_level))))
    return (math.floor(budget * size + Fraction(1, 10**9)) + 0.5) / size


def extensive_form(program: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The extensive form of mpi-sppy with the chance constraint, for any solver that takes the program.

    Raises
    ------
    InvalidInputError
        If mpi-sppy is not installed.
    """
    utilities = _utilities()
    from mpisppy.utils import chance_constraint  # optional, so imported where it is used

    names = scenario_names_creator(len(program.scenarios))
    whole = utilities.create_EF(
        names, scenario_creator, scenario_creator_kwargs={"program": program}, suppress_warnings=True
    )
    chance_constraint.add_chance_constraint(
        whole, cc_indicator_var_name=INDICATOR, cc_alpha=chance_level(program)
    )
    return whole


def inparser_adder(cfg: Any) -> None:
    """Options on the command line of mpi-sppy: ``--instance`` beside its own ``--num-scens``."""
    cfg.num_scens_required()
    cfg.add_to_config(
        "instance", description="instance of depl, by its name or file", domain=str, default=None
    )
    cfg.add_to_config("scenario_seed", description="seed of the scenarios", domain=int, default=0)


def kw_creator(cfg: Any) -> dict[str, Any]:
    """The arguments of `scenario_creator`, from the options."""
    from depl.instances.library import load
    from depl.models.programs.finished import program

    return {"program": program(load(cfg.instance), int(cfg.num_scens), seed=int(cfg.scenario_seed))}


def scenario_denouement(rank: int, scenario_name: str, scenario: pyo.ConcreteModel) -> None:
    """Called by mpi-sppy for every scenario at the end; there is nothing to add."""
    del rank, scenario_name, scenario


def _utilities() -> Any:
    try:
        from mpisppy.utils import sputils  # optional, so imported where it is used
    except ImportError as error:
        raise InvalidInputError(f"mpi-sppy is not installed: {installing('mpi-sppy')}", "program") from error
    return sputils
