"""Programs in files: read back, called a relaxation in the first line, names in ASCII that lead back."""

import functools
import itertools
import json
from unittest.mock import Mock

import highspy
import pyomo.environ as pyo
import pytest

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.programs.export import export, read_names, symbols
from depl.models.programs.highs import OPTIONS, Session
from tests.cases.outside_solvers import cbc, glpk_relaxed, scip
from tests.cases.sampled_plans import price_space
from tests.oracles.search import sampled

ENDINGS = ("lp", "mps")


def knapsack():
    """Values 3 and 4, weights 2 and 3, room 4: the second is taken."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 2], domain=pyo.Binary)
    model.room = pyo.Constraint(expr=2 * model.x[1] + 3 * model.x[2] <= 4)
    model.cost = pyo.Objective(expr=-3 * model.x[1] - 4 * model.x[2])
    return model


def read(path):
    """The file as HiGHS reads and solves it; of coefficients that it leaves out it would warn."""
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    for name, value in OPTIONS.items():
        engine.setOptionValue(name, value)
    engine.run()
    return engine


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_written_program_is_read_back_and_called_a_relaxation_in_the_first_line(
    tiny, ending, tmp_path, caplog
):
    """Of the problem of docs/programs.rst, whose optimum is 28."""
    model = price_space(sampled(tiny, 50))
    path = export(model, tmp_path / f"program.{ending}")
    assert caplog.messages == []  # Pyomo has nothing to warn of
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    text = path.read_text(encoding="ascii")
    first = text.splitlines()[0]
    assert first.startswith(("\\ This program is a RELAXATION", "* This program is a RELAXATION"))
    assert "lower bound" in first
    assert "eq3_quantile" in text
    found = read(path).getInfo().objective_function_value
    assert found == pytest.approx(Session(model).solve().objective, rel=1e-7)
    assert found < 28 * (1 - 1e-6)
    assert "RELAXATION" in export(model.clone(), tmp_path / f"copy.{ending}").read_text(encoding="ascii")
    assert "RELAXATION" not in export(knapsack(), tmp_path / f"other.{ending}").read_text(encoding="ascii")


# ---- names ----

HARD_NAMES = {
    "accents": ("Zürich", "Genève"),
    "other scripts": ("東京", "москва"),
    "blanks and underscores": ("a b", "a_b"),
    "signs": ("a+b", "a,b"),
    "brackets": ("x[1]", "x(1)"),
    "cases": ("Site", "site"),
    "quotes": ("it's", 'a "b"'),
    "comment signs": ("\\ a", "* a"),
    "long ones": ("n" * 2000 + "1", "é" * 400),
    "like a keyword": ("end", "e10"),
}


@functools.cache
def optimum_of(instance):
    """The least of the program of an instance on eight scenarios, without a file."""
    return Session(price_space(sampled(instance, 8, 1))).solve().objective


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("first", range(0, len(HARD_NAMES), 3))
def test_any_names_are_written_in_ascii_without_collision_and_lead_back(tiny, first, ending, tmp_path):
    """Clusters, datasets and models of three kinds."""
    instance = renamed(tiny, *itertools.chain(*list(HARD_NAMES.values())[first : first + 3]))
    model = price_space(sampled(instance, 8, 1))
    path = export(model, tmp_path / f"program.{ending}")
    engine = read(path)
    wanted = optimum_of(tiny)
    assert engine.getInfo().objective_function_value == pytest.approx(wanted, rel=1e-7)
    assert [scip(path), cbc(path)] == pytest.approx([wanted] * 2, rel=1e-6)
    engine.setOptionValue("solve_relaxation", True)
    engine.run()
    assert glpk_relaxed(path) == pytest.approx(engine.getInfo().objective_function_value, rel=1e-6)
    lost = read_names(path)
    by_symbol = {symbol: item.getname(True) for item, symbol in symbols(model).items()}
    assert len(by_symbol) == len(symbols(model))
    assert {symbol: by_symbol[symbol] for symbol in lost} == lost
    columns = set(engine.getLp().col_names_)
    chosen = [symbol for item, symbol in symbols(model).items() if item.parent_component() is model.w]
    assert set(chosen) <= columns
    assert all(len(symbol) <= 45 and symbol.isascii() for symbol in columns)


def renamed(tiny, *names):
    """`tiny` with these names for its clusters, datasets and models, as far as they go."""
    text = tiny.to_json()
    for old, new in zip(("cloud", "edge", "archive", "sensors", "full", "pruned"), names, strict=False):
        text = text.replace(f'"{old}"', json.dumps(new))
    return depl.Instance.from_json(text)


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_comment_is_longer_than_a_line_that_solvers_read(ending, tmp_path):
    """SCIP 10 takes the rest of a longer one for a row of an MPS file, and CBC 2.10 of an LP file."""
    name = '\\"é+ ' * 300
    model = pyo.ConcreteModel()
    model.x = pyo.Var([name], domain=pyo.Binary)
    model.cost = pyo.Objective(expr=model.x[name])
    path = export(model, tmp_path / f"program.{ending}")
    assert max(len(line) for line in path.read_text(encoding="ascii").splitlines()) <= 255
    assert read_names(path) == {symbols(model)[model.x[name]]: model.x[name].getname(True)}
    solver = scip if ending == "mps" else cbc
    assert solver(path) == 0


# ---- files ----


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path, model = tmp_path / "program.lp", knapsack()
    path.write_text("mine")
    monkeypatch.setattr(pyo.ConcreteModel, "write", Mock(side_effect=OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        export(model, path)
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [("program.lp", "mine")]


@pytest.mark.parametrize(
    ("name", "cones", "words"),
    [("a.txt", False, r"\.lp, \.mps or \.nl"), ("a.mps", True, "MPS files have no cones")],
)
def test_another_ending_and_cones_as_mps_are_refused(tmp_path, name, cones, words):
    model = knapsack()
    if cones:
        model.cone = pyo.Constraint(expr=model.x[1] ** 2 - model.x[2] * model.x[1] <= 0)
    with pytest.raises(InvalidInputError, match=words):
        export(model, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
