"""``depl solve --scenarios FILE``, and instances without laws: what is promised, and what is refused."""

import dataclasses
import json
import math
import pickle

import msgspec
import numpy as np
import pytest

from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import ConstantImprovement, TabledImprovement
from depl.models.problem.laws import NO_LAW, Undeclared, Zero
from depl.models.problem.plan import Bounds, Claims, Plan
from depl.models.scenarios.draws import (
    Scenarios,
    draw_scenarios,
    given_scenarios,
    load_scenarios,
    save_scenarios,
)
from depl.models.solving.solve import solve
from depl.models.verifier.verify import verify
from tests.cases.sampled_plans import cheapest
from tests.problems import refusal

COUNTING = ("scenario-search", "milp")


@pytest.fixture(scope="module")
def lawless(tiny):
    """`tiny` without its laws: X is the gain itself, and switches cost what the scenarios say."""
    gain = ConstantImprovement(noise=Undeclared())
    models = tuple(msgspec.structs.replace(model, improvement=gain) for model in tiny.models)
    switches = tuple(msgspec.structs.replace(row, law=Undeclared()) for row in tiny.switches)
    return tiny.replace(name="lawless", models=models, switches=switches, other_switches=Undeclared())


@pytest.fixture(scope="module")
def files(tmp_path_factory, lawless):
    """The instance, gains of ten runs as somebody measured them, and where both are written."""
    runs = np.random.default_rng(3).choice([1.0, 2.5, 4.0, 5.5], (10, 3, 2))
    folder = tmp_path_factory.mktemp("lawless")
    scenarios = given_scenarios(lawless, runs, np.full((10, 3, 2, 2), 0.25))
    (folder / "lawless.json").write_text(lawless.to_json(), encoding="utf-8")
    save_scenarios(scenarios, folder / "runs.npz")
    return folder / "lawless.json", folder / "runs.npz", scenarios


# ---- what is written and read ----


@pytest.mark.parametrize("decimals", [None, 0])
def test_what_is_saved_is_loaded(tiny, tmp_path, decimals):
    path = tmp_path / "scenarios.npz"
    for scenarios in (
        draw_scenarios(tiny, 9, seed=2**70, decimals=decimals),
        given_scenarios(tiny, np.ones((2, 3, 2)), decimals=decimals),
    ):
        save_scenarios(scenarios, path)
        loaded = load_scenarios(path, tiny)
        assert loaded.digest == scenarios.digest
        assert (loaded.seed, loaded.decimals) == (scenarios.seed, scenarios.decimals)
    assert [item.name for item in tmp_path.iterdir()] == ["scenarios.npz"]


def content(**changes):
    fields = {
        "format": "depl-scenarios",
        "version": 1,
        "improvements": np.ones((2, 3, 2)),
        "switch_losses": np.zeros((2, 3, 2, 2)),
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"improvements": None}, "improvements", "is missing"),
        ({"format": None}, "format", "is missing"),
        ({"format": "other"}, "format", "'depl-scenarios' file is needed"),
        ({"version": 2}, "version", "reads 1"),
        ({"improvements": np.ones((2, 4, 2))}, "", "need the shape"),
        ({"improvements": np.full((2, 3, 2), np.nan)}, "improvements[0, 0, 0]", "is nan"),
        ({"improvements": np.full((2, 3, 2), "x")}, "improvements", "not numbers"),
        ({"switch_losses": np.ones((2, 3, 2, 2), dtype=complex)}, "switch_losses", "not numbers"),
        ({"seed": "-3"}, "seed", "whole number"),
        ({"decimals": "many"}, "decimals", "whole number"),
        ({"decimals": 12}, "", "between 0 and 8"),
    ],
)
def test_a_file_with_a_fault_is_refused_by_the_name_of_the_array(tiny, tmp_path, changes, place, words):
    path = tmp_path / "bad.npz"
    np.savez(path, **content(**changes))
    found = refusal(load_scenarios, path, tiny)
    assert words in found.message
    assert found.path == (f"{path}: {place}" if place else str(path))


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_what_is_no_archive_of_numbers_is_refused_and_never_unpickled(tiny, tmp_path):
    path = tmp_path / "bad.npz"
    for improvements in (np.array([Bomb()], dtype=object), None):
        np.savez(path, **content(improvements=improvements))
        if improvements is None:
            path.write_bytes(pickle.dumps(Bomb()))
        found = refusal(load_scenarios, path, tiny)
        assert found.path == str(path)
        assert "npz file" in found.message


def test_a_file_that_cannot_be_written_is_said_so(tiny, tmp_path):
    with pytest.raises(InvalidInputError, match="cannot be written"):
        save_scenarios(draw_scenarios(tiny, 2), tmp_path / "missing" / "file.npz")


# ---- scenarios of a file ----


def test_a_file_whose_seed_or_rounding_is_not_the_plans_is_refused(ask, tiny, tmp_path):
    words = ("--method", "scenario-search", "--scenarios", 5, "--seed", 1)
    plan, file = tmp_path / "plan.json", tmp_path / "own.npz"
    assert ask("solve", "tiny", *words, "--out", plan)[0] == 0
    scenarios = draw_scenarios(tiny, 5, 1)
    save_scenarios(scenarios, file)
    assert ask("check", "tiny", plan, "--scenarios", file)[0] == 0
    for header, message in (
        ({"seed": 2}, "own.npz: seed: is 2 in the file, 1 in the plan"),
        ({"seed": None}, "own.npz: seed: is none in the file, 1 in the plan"),
        ({"decimals": 2}, "own.npz: decimals: is 2 in the file, none in the plan"),
    ):
        save_scenarios(dataclasses.replace(scenarios, **header), file)
        code, _, err = ask("check", "tiny", plan, "--scenarios", file)
        assert code == 2
        assert message in err


@pytest.mark.parametrize("method", COUNTING)
def test_a_file_of_scenarios_is_what_the_plan_is_cheapest_on(ask, tiny, method, tmp_path):
    """Oracle: every plan on the same scenarios. The instance has laws, so there is a certificate."""
    scenarios = given_scenarios(tiny, draw_scenarios(tiny, 10, seed=7).improvements, np.zeros((10, 3, 2, 2)))
    save_scenarios(scenarios, tmp_path / "own.npz")
    words = ("solve", "tiny", "--method", method, "--scenarios", tmp_path / "own.npz")
    code, out, _ = ask(*words, "--out", tmp_path / "plan.json")
    assert code == 0
    assert "of 10 missed, 3 allowed; given" in out
    result = json.loads(ask(*words, "--json")[1])
    assert result["quantile_means"] == "scenarios"
    assert result["cost"] == pytest.approx(cheapest(SampledProblem(tiny, scenarios)), rel=1e-9)
    check = ("check", "tiny", tmp_path / "plan.json")
    assert ask(*check, "--scenarios", tmp_path / "own.npz")[0] == 0
    assert ask(*check)[0] == 3  # without the scenarios nothing is accepted


@pytest.mark.parametrize(
    ("words", "file", "message"),
    [
        (("tiny", "--method", "exact"), "runs", "takes no scenarios; leave them out, or choose a method"),
        (("paper-alexnet-9", "--method", "milp"), "runs", "need the shape (S, 20, 3), not (10, 3, 2)"),
        (("digits-alexnet", "--method", "milp"), "runs", "scenarios of a traced law are drawn from its runs"),
        (("tiny", "--method", "milp"), "wrong", "wrong.npz: seed: is 5, whose stream has other numbers"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(ask, files, tiny, words, file, message):
    folder = files[1].parent
    drawn = draw_scenarios(tiny, 20, seed=5)
    save_scenarios(Scenarios(drawn.improvements + 1, drawn.switch_losses, 5), folder / "wrong.npz")
    code, out, err = ask("solve", *words, "--scenarios", folder / f"{file}.npz")
    assert (code, out) == (2, "")
    assert message in err


# ---- instances without laws ----


def test_without_laws_plans_are_made_for_given_scenarios_and_nothing_else_is_promised(
    ask, files, lawless, tmp_path
):
    instance, path, scenarios = files
    words = ("solve", instance, "--scenarios", path)
    code, out, _ = ask(*words, "--explain", "--out", tmp_path / "plan.json")
    assert code == 0
    assert "nothing is promised: no law is declared" in out
    assert "X ~ of undeclared law" in out
    assert not any(word in out for word in ("certified", "expected loss", "nan"))
    result = json.loads(ask(*words, "--json")[1])
    assert result["method"] == "scenario-search"  # by default one that counts
    assert result["cost"] == pytest.approx(cheapest(SampledProblem(lawless, scenarios)), rel=1e-9)
    assert result["violation"] == result["quantile"] == {"lower": None, "upper": None}
    assert result["expected_loss"] is None
    assert result["scenarios"]["fresh"] is None
    check = ("check", instance, tmp_path / "plan.json")
    assert [ask(*check, "--scenarios", path)[0], ask(*check)[0]] == [0, 3]


def test_what_needs_a_law_is_refused_where_none_is_declared(ask, files, lawless):
    for words in (("depl",), ("exact",), *((method, "--scenarios", 20) for method in COUNTING)):
        code, out, err = ask("solve", files[0], "--method", *words)
        assert (code, out) == (2, "")
        assert NO_LAW in err
    seeded = Scenarios(files[2].improvements, files[2].switch_losses, 4)
    with pytest.raises(InvalidInputError, match="no law to draw them from"):
        solve(lawless, "milp", scenarios=seeded)


def test_one_undeclared_law_is_enough(tiny):
    """Of a model, of an epoch of a table, of a switch, of the other switches."""
    known, unknown = tiny.models[0].improvement, ConstantImprovement(noise=Undeclared())
    rows = tuple(ConstantImprovement(noise=known.at(k)[1]) for k in range(1, 4))
    tables = [TabledImprovement(epochs=rows), TabledImprovement(epochs=(*rows[:2], unknown))]
    first, second = tiny.models
    for improvement, declared in zip((known, unknown, *tables), (True, False, True, False), strict=True):
        model = msgspec.structs.replace(first, improvement=improvement)
        assert tiny.replace(models=(model, second)).declares_laws == declared
    row = msgspec.structs.replace(tiny.switches[0], law=Undeclared())
    assert not tiny.replace(switches=(row, *tiny.switches[1:])).declares_laws
    assert not tiny.replace(other_switches=Undeclared()).declares_laws
    assert tiny.replace(other_switches=Zero()).declares_laws


def test_a_lawless_plan_is_proved_on_its_scenarios_and_may_claim_no_probability(lawless, files):
    result = solve(lawless, "scenario-search", scenarios=files[2])
    arrays = files[2].improvements, files[2].switch_losses
    report = verify(lawless, result.plan, arrays)
    assert report.ok
    assert report.proved_bound == pytest.approx(result.cost, rel=1e-8)
    assert math.isnan(report.expected_loss)
    assert (report.violation.lower, report.violation.upper) == (0, 1)
    assert result.plan.claims.violation is result.plan.claims.quantile is None
    for name in ("violation", "quantile"):
        claims = msgspec.structs.replace(result.plan.claims, **{name: Bounds(lower=0.0, upper=0.01)})
        report = verify(lawless, msgspec.structs.replace(result.plan, claims=claims), arrays)
        assert [item.equation for item in report.failures] == [f"claim: {name}"]
    bare = msgspec.structs.replace(result.plan, claims=Claims(cost=result.cost))
    (failure,) = verify(lawless, bare).failures
    assert failure.equation == "(3)"


def test_what_is_certain_needs_no_law(lawless):
    """Not to train leaves the initial loss, which is above or below the target without any law."""
    for maximum, missed in ((lawless.target.initial_loss + 1, 0), (lawless.target.initial_loss - 1, 1)):
        found = evaluate(lawless.replace(maximum_loss=maximum), Plan())
        assert found.violation.exact == missed
