"""``depl solve --scenarios FILE``, and instances without laws: what is promised, and what is refused."""

import itertools
import json
import math

import msgspec
import numpy as np
import pytest

from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import ConstantImprovement, Instance, TabledImprovement
from depl.models.problem.laws import NO_LAW, Undeclared, Zero
from depl.models.problem.plan import Bounds, Claims, Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios, given_scenarios
from depl.models.scenarios.files import save_scenarios
from depl.models.solving.solve import solve
from depl.models.verifier.verify import verify
from tests.cases.sampled_plans import cheapest

COUNTING = ("scenario-search", "milp")


def all_but(name: str) -> list[object]:
    """The methods that count scenarios; one of them, which another test asks by default, is slow."""
    return [pytest.param(item, marks=pytest.mark.slow if item == name else ()) for item in COUNTING]


@pytest.fixture(scope="module")
def runs() -> np.ndarray:
    """Gains per epoch and model of ten runs, as somebody measured them; nobody fitted a law."""
    return np.random.default_rng(3).choice([1.0, 2.5, 4.0, 5.5], (10, 3, 2))


@pytest.fixture(scope="module")
def lawless(tiny) -> Instance:
    """`tiny` without its laws: X is the gain itself, and switches cost what the scenarios say."""
    gain = ConstantImprovement(noise=Undeclared())
    models = tuple(msgspec.structs.replace(model, improvement=gain) for model in tiny.models)
    switches = tuple(msgspec.structs.replace(row, law=Undeclared()) for row in tiny.switches)
    return tiny.replace(name="lawless", models=models, switches=switches, other_switches=Undeclared())


@pytest.fixture(scope="module")
def files(tmp_path_factory, lawless, runs):
    """The instance, its scenarios and where both are written."""
    folder = tmp_path_factory.mktemp("lawless")
    scenarios = given_scenarios(lawless, runs, np.full((10, 3, 2, 2), 0.25))
    (folder / "lawless.json").write_text(lawless.to_json(), encoding="utf-8")
    save_scenarios(scenarios, folder / "runs.npz")
    return folder / "lawless.json", folder / "runs.npz", scenarios


# ---- scenarios of a file ----


@pytest.mark.parametrize("method", COUNTING)
def test_a_file_of_scenarios_is_what_the_plan_is_cheapest_on(ask, tiny, method, tmp_path):
    """Oracle: every plan on the same scenarios. The instance has laws, so there is a certificate."""
    scenarios = given_scenarios(tiny, draw_scenarios(tiny, 10, seed=7).improvements, np.zeros((10, 3, 2, 2)))
    save_scenarios(scenarios, tmp_path / "own.npz")
    words = ("solve", "tiny", "--method", method, "--scenarios", tmp_path / "own.npz")
    code, out, _ = ask(*words, "--out", tmp_path / "plan.json")
    assert code == 0
    assert "proved cheapest on these scenarios" in out
    assert "of 10 missed, 3 allowed; given" in out
    assert "certified" in out
    result = json.loads(ask(*words, "--json")[1])
    assert result["quantile_means"] == "scenarios"
    assert result["cost"] == pytest.approx(cheapest(SampledProblem(tiny, scenarios)), rel=1e-9)
    check = ("check", "tiny", tmp_path / "plan.json")
    assert ask(*check, "--scenarios", tmp_path / "own.npz")[0] == 0
    assert ask(*check)[0] == 3  # without the scenarios nothing is accepted


def test_a_drawn_sample_kept_in_a_file_gives_what_drawing_gives(ask, tiny, tmp_path):
    save_scenarios(draw_scenarios(tiny, 20, seed=5), tmp_path / "drawn.npz")
    words = ("solve", "tiny", "--method", "scenario-search", "--json", "--scenarios")
    kept = json.loads(ask(*words, tmp_path / "drawn.npz")[1])
    drawn = json.loads(ask(*words, 20, "--seed", 5)[1])
    assert kept["cost"] == drawn["cost"]
    assert kept["scenarios"]["digest"] == drawn["scenarios"]["digest"]


def test_numbers_that_are_not_those_of_their_seed_are_refused(ask, tiny, tmp_path):
    drawn = draw_scenarios(tiny, 20, seed=5)
    save_scenarios(Scenarios(drawn.improvements + 1, drawn.switch_losses, 5), tmp_path / "wrong.npz")
    path = tmp_path / "wrong.npz"
    code, out, err = ask("solve", "tiny", "--method", "milp", "--scenarios", path)
    assert (code, out) == (2, "")
    assert f"{path}: seed: is 5, whose stream has other numbers" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tiny", "--method", "exact"), "takes no scenarios; leave them out, or choose a method that counts"),
        (("tiny",), "method 'auto' works under the law itself"),
        (("paper-alexnet-9", "--method", "milp"), "need the shape (S, 20, 3), not (10, 3, 2)"),
        (
            ("digits-alexnet", "--method", "scenario-search"),
            "scenarios of a traced law are drawn from its runs",
        ),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(ask, files, words, message):
    code, out, err = ask("solve", *words, "--scenarios", files[1])
    assert (code, out) == (2, "")
    assert message in err


def test_a_missing_or_foreign_file_is_refused_by_its_name(ask, tmp_path):
    absent, foreign = tmp_path / "absent.npz", tmp_path / "plan.npz"
    foreign.write_text("{}", encoding="utf-8")
    for path, message in ((absent, "cannot be read (No such file"), (foreign, "is no npz file")):
        code, _, err = ask("solve", "tiny", "--method", "milp", "--scenarios", path)
        assert code == 2
        assert f"{path}: {message}" in err


# ---- instances without laws ----


@pytest.mark.parametrize("method", all_but("milp"))
def test_without_laws_plans_are_made_for_given_scenarios_and_nothing_else_is_promised(
    ask, files, lawless, method, tmp_path
):
    instance, path, scenarios = files
    words = ("solve", instance, "--method", method, "--scenarios", path)
    code, out, _ = ask(*words, "--out", tmp_path / "plan.json")
    assert code == 0
    assert "proved cheapest on these scenarios" in out
    assert "nothing is promised: no law is declared" in out
    assert "certified" not in out
    assert "expected loss" not in out
    result = json.loads(ask(*words, "--json")[1])
    assert result["cost"] == pytest.approx(cheapest(SampledProblem(lawless, scenarios)), rel=1e-9)
    assert result["violation"] == result["quantile"] == {"lower": None, "upper": None}
    assert result["expected_loss"] is None
    assert result["scenarios"]["fresh"] is None
    code, out, _ = ask("check", instance, tmp_path / "plan.json", "--scenarios", path)
    assert code == 0
    assert "no law is declared: nothing is said" in out
    assert ask("check", instance, tmp_path / "plan.json")[0] == 3


def test_without_laws_the_default_method_counts(ask, files):
    result = json.loads(ask("solve", files[0], "--scenarios", files[1], "--json")[1])
    assert result["method"] == "scenario-search"


def test_a_plan_without_law_is_explained_without_probabilities(ask, files):
    code, out, _ = ask("solve", files[0], "--scenarios", files[1], "--explain")
    assert code == 0
    assert "all constraints hold but (3), which has no law to be judged by" in out
    assert "X ~ of undeclared law" in out
    assert "nan" not in out
    code, out, _ = ask("instances", "show", files[0])
    assert code == 0
    assert "undeclared" in out


@pytest.mark.parametrize("method", ["depl", "exact", "enumerate", "depl-paper", "expected-cost"])
def test_methods_that_need_a_law_are_refused_where_none_is_declared(ask, files, method):
    code, out, err = ask("solve", files[0], "--method", method)
    assert (code, out) == (2, "")
    assert NO_LAW in err


@pytest.mark.parametrize("method", COUNTING)
def test_nothing_is_drawn_where_no_law_is_declared(ask, files, lawless, method):
    for words in ((), ("--scenarios", 20)):
        code, out, err = ask("solve", files[0], "--method", method, *words)
        assert (code, out) == (2, "")
        assert NO_LAW in err
    seeded = msgspec_free(files[2], seed=4)
    with pytest.raises(InvalidInputError, match="no law to draw them from"):
        solve(lawless, method, scenarios=seeded)


def msgspec_free(scenarios: Scenarios, seed: int) -> Scenarios:
    return Scenarios(scenarios.improvements, scenarios.switch_losses, seed)


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


def test_every_question_about_an_undeclared_law_is_refused_with_what_to_do():
    law = Undeclared()
    for ask in (
        law.moments,
        law.support,
        lambda: law.cdf(0.0),
        lambda: law.sample(np.random.default_rng(0), 3),
        lambda: law.inverse_cdf(0.5),
    ):
        with pytest.raises(NotCoveredError, match="scenario-search or milp with"):
            ask()


def test_a_plan_may_claim_no_probability_without_law(lawless, files):
    result = solve(lawless, "scenario-search", scenarios=files[2])
    arrays = files[2].improvements, files[2].switch_losses
    assert verify(lawless, result.plan, arrays).ok
    assert result.plan.claims.violation is result.plan.claims.quantile is None
    for name in ("violation", "quantile"):
        claims = msgspec.structs.replace(result.plan.claims, **{name: Bounds(lower=0.0, upper=0.01)})
        report = verify(lawless, msgspec.structs.replace(result.plan, claims=claims), arrays)
        assert [item.equation for item in report.failures] == [f"claim: {name}"]
    bare = msgspec.structs.replace(result.plan, claims=Claims(cost=result.cost))
    (failure,) = verify(lawless, bare).failures
    assert failure.equation == "(3)"
    assert "no law is declared" in failure.message


def test_what_is_certain_needs_no_law(lawless):
    """Not to train leaves the initial loss, which is above or below the target without any law."""
    for maximum, missed in ((lawless.target.initial_loss + 1, 0), (lawless.target.initial_loss - 1, 1)):
        found = evaluate(lawless.replace(maximum_loss=maximum), Plan())
        assert found.violation.exact == missed


def test_the_bound_of_a_lawless_plan_is_proved_on_its_scenarios(lawless, files):
    result = solve(lawless, "scenario-search", scenarios=files[2])
    report = verify(lawless, result.plan, (files[2].improvements, files[2].switch_losses))
    assert report.proved_bound == pytest.approx(result.cost, rel=1e-8)
    assert math.isnan(report.expected_loss)
    assert (report.violation.lower, report.violation.upper) == (0, 1)
    assert not list(itertools.filterfalse(lambda item: item.ok, report.findings))
