"""Finished programs: solvers of others find the optimum of depl in the files; relaxations are named so."""

import math

import numpy as np
import pyomo.environ as pyo
import pytest

import depl
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.programs.export import export
from depl.models.programs.finished import program
from depl.models.programs.formulations import Price
from depl.models.programs.highs import Status, solve_program
from depl.models.programs.loop import solve_sampled
from depl.models.programs.notes import is_relaxation, note_of
from tests.cases.outside_solvers import LINEAR, cbc, glpk, scip
from tests.cases.sampled_plans import cheapest, cost, meets_all
from tests.oracles.search import sampled, sequences
from tests.problems import drawn

SIZES = {"models": (2, 3), "clusters": (2, 3), "datasets": (1, 3), "maximum_epochs": (2, 5)}


def least(instance, size, seed=0):
    return cheapest(sampled(instance, size, seed))


# ---- the optimum of the file is that of the problem ----


@pytest.mark.parametrize("seed", [3, 17])
def test_other_solvers_find_the_optimum_of_depl_in_the_file(seed, tmp_path):
    """The optimum by the search, which needs no program."""
    (instance,) = drawn(seed, 1, **SIZES)
    wanted = depl.solve(instance, "scenario-search", scenarios=12, seed=seed).cost
    model, found = program(instance, 12, seed=seed), {}
    for ending in ("lp", "mps"):
        path = export(model, tmp_path / f"price.{ending}")
        found |= {(ending, name): solve(path) for name, solve in LINEAR.items()}
    path = export(program(instance, 12, "cone", seed=seed), tmp_path / "cone.lp")
    found["cone", "scip"] = scip(path, 1e-8)
    assert found == pytest.approx(dict.fromkeys(found, wanted), rel=1e-6)


def test_the_documented_program_has_the_optimum_28_and_the_relaxation_has_not(tiny, tmp_path):
    assert least(tiny, 50) == pytest.approx(28, rel=1e-12)
    whole, relaxed = program(tiny, 50), program(tiny, 50, finished=False)
    assert (is_relaxation(whole), is_relaxation(relaxed)) == (False, True)
    answer, relaxation = solve_program(whole), solve_program(relaxed)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, pytest.approx(28, rel=1e-9))
    assert relaxation.status is Status.RELAXATION_OPTIMAL
    assert relaxation.objective < 28 * (1 - 1e-6)
    first = export(whole, tmp_path / "whole.lp").read_text().splitlines()[0]
    assert first.startswith("\\ This program is FINISHED: its optimum is 28.0, that of instance ")
    assert "RELAXATION" in export(relaxed, tmp_path / "relaxed.lp").read_text().splitlines()[0]
    cone = program(tiny, 50, "cone", finished=False)
    assert not is_relaxation(cone)
    assert note_of(cone) is None
    assert solve_program(cone, solve_with="scip").objective == pytest.approx(28, rel=1e-6)
    with pytest.raises(NotCoveredError, match="there is no program: models:"):
        program(tiny.replace(maximum_loss=-99), 50)


def test_files_of_ampl_have_the_optimum_and_the_names_beside_them(tiny, tmp_path):
    for form, tolerance in (("price", 1e-6), ("cone", 1e-8)):
        model = program(tiny, 12, form)
        path = export(model, tmp_path / f"{form}.nl")
        assert scip(path, tolerance) == pytest.approx(note_of(model)["optimum"], rel=1e-6)
        header = path.read_text(encoding="ascii").splitlines()
        assert header[0].startswith("g3 1 1 0\t# This program is FINISHED: its optimum is ")
        count, rows, *_ = map(int, header[1].split("#")[0].split())
        columns = path.with_suffix(".col").read_text(encoding="ascii").splitlines()
        assert len(columns) == len(set(columns)) == count
        assert {"theta", "x(1_edge)"} & set(columns)
        assert len(path.with_suffix(".row").read_text(encoding="ascii").splitlines()) == rows + 1
        assert "eq3_quantile" in path.with_suffix(".row").read_text(encoding="ascii")
    relaxed = export(program(tiny, 12, finished=False), tmp_path / "relaxed.nl")
    assert "RELAXATION" in relaxed.read_text(encoding="ascii").splitlines()[0]


def test_a_problem_in_which_not_to_train_is_feasible_has_a_program_with_the_optimum_0(tiny, tmp_path):
    """And one that also lists the plans that train: nothing forces an epoch."""
    instance = tiny.replace(maximum_loss=tiny.target.initial_loss + 1)
    model = program(instance, 8)
    assert note_of(model)["optimum"] == 0
    path = export(model, tmp_path / "whole.lp")
    assert [solve(path) for solve in LINEAR.values()] == pytest.approx([0.0] * 4, abs=1e-9)
    model.must = pyo.Constraint(expr=sum(model.w[key] for key in model.w if key[0] == 1) == 1)
    problem = sampled(instance, 8)
    trained = min(cost(problem, row) for row in sequences(problem) if meets_all(problem, row))
    assert solve_program(model).objective <= trained * (1 + 1e-9)
    with pytest.raises(NotCoveredError, match="the only feasible plan does not train, and costs 0"):
        program(instance.replace(maximum_epochs=0), 8)


# ---- what the proof leaves in the program ----


def test_a_near_tie_within_the_tolerance_of_other_solvers_is_excluded_by_a_row(tiny, tmp_path):
    """A cheap sequence misses by 2e-7 of the largest gain: HiGHS under 1e-9 sees that, others do not."""
    problem = sampled(tiny, 10, 3)
    rows = sorted(sequences(problem), key=lambda row: cost(problem, row))
    cheap = next(
        row for row in rows if row and math.isfinite(cost(problem, row)) and not meets_all(problem, row)
    )
    gains = np.sort(problem.gain(cheap))
    reached = float(gains[problem.allowed])  # it would do if the target asked for no more than this
    largest = float(max(np.abs(problem.gains).max(), np.abs(problem.switch_losses).max()))
    instance = tiny.replace(maximum_loss=tiny.target.initial_loss - reached - 2e-7 * largest)
    wanted = least(instance, 10, 3)
    assert wanted > cost(problem, cheap) * (1 + 1e-6)
    model = program(instance, 10, seed=3)
    assert note_of(model)["near_ties"] >= 1
    assert note_of(model)["optimum"] == pytest.approx(wanted, rel=1e-9)
    path = export(model, tmp_path / "whole.lp")
    assert [solve(path) for solve in (cbc, glpk, scip)] == pytest.approx([wanted] * 3, rel=1e-6)
    model.no_goods.deactivate()
    bare = export(model, tmp_path / "bare.lp")
    assert min(solve(bare) for solve in (cbc, glpk, scip)) < wanted * (1 - 1e-6)  # so the row was needed


def test_where_cuts_are_too_large_for_a_solver_the_loop_states_costs_and_the_optimum_stays(tiny, monkeypatch):
    """Without cuts every bound is too low, and rows of costs alone have to lift it."""
    monkeypatch.setattr(Price, "tighten", lambda *_: [])
    monkeypatch.setattr(Price, "first_multipliers", lambda _: [0.0])
    instance = tiny.replace(maximum_epochs=2, maximum_loss=10)
    problem, model = sampled(instance, 8, 1), program(instance, 8, seed=1)
    note = note_of(model)
    assert note["cost_rows"] >= 1
    assert note["optimum"] == pytest.approx(least(instance, 8, 1), rel=1e-9)
    assert note["optimum"] == solve_sampled(problem).cost  # that of the method
    assert solve_program(model).objective == pytest.approx(note["optimum"], rel=1e-6)
    assert len(solve_sampled(problem).settled) >= 1  # the method itself excludes them in place of that


# ---- refusals ----


MEMORY = r"has memory .*; the method scenario-search solves it"


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"instance": "digits-mobilenet"}, NotCoveredError, MEMORY),
        ({"form": "prices"}, InvalidInputError, "no form 'prices'; did you mean 'price'"),
        ({"form": "resource"}, InvalidInputError, "--form resource was removed: --form cone has resources"),
        ({"scenarios": "many"}, InvalidInputError, "must be a whole number or Scenarios"),
        ({"scenarios": 10, "time_limit": 1e-9}, NotCoveredError, "(not proved|over before).*allow more time"),
        ({"time_limit": -1}, InvalidInputError, "time_limit must be positive"),
    ],
)
def test_what_cannot_be_done_is_refused(options, kind, words):
    instance = depl.load(options.pop("instance", "tiny"))
    with pytest.raises(kind, match=words):
        depl.program(instance, **options)
