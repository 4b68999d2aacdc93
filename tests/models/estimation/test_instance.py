"""Setups, and the instances that they become with traces: laws, memory of runs, and what is refused."""

import json

import jsonschema
import numpy as np
import pytest

from depl.models.estimation import instance as fitting
from depl.models.estimation.affine import fit_affine
from depl.models.estimation.certificate import held_out
from depl.models.estimation.fit import Combination, fit_switch, fit_traces
from depl.models.estimation.instance import SETTLED_EPOCHS, fit_instance
from depl.models.estimation.setup import Setup, setup_schema
from depl.models.evaluation.evaluate import evaluate
from depl.models.evaluation.traced_loss import only_whole_runs
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Deterministic, Empirical, Normal, StudentT
from depl.models.problem.learning import ConstantImprovement
from depl.models.solving.solve import solve
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.table import Traces
from tests.cases.documents import ABSENT, put
from tests.cases.fit_cases import SETUP, drawn, setup, traces_of, without_first_epoch
from tests.problems import refusal

TRACES = drawn()
PARTS = ({"law": "independent"}, {"residuals": "independent"})
"""Laws that do not keep whole runs together."""


@pytest.fixture(scope="module")
def fitted():
    return fit_instance(TRACES, setup())


@pytest.mark.parametrize("scale", ["log", "loss"])
def test_the_affine_law_is_that_of_the_traces_to_seven_digits_on_either_scale(scale):
    law, found = fit_affine(TRACES, scale=scale), fit_instance(TRACES, setup(), scale=scale).traced_law
    assert found.scale == scale
    assert found.law.rows.keys() == law.rows.keys()
    for key, step in law.rows.items():
        assert found.law.rows[key].intercept == pytest.approx(step.intercept, rel=1e-6)
        assert found.law.rows[key].retention == pytest.approx(step.retention, rel=1e-6)
    assert [run.losses.tolist() for run in found.law.records] == [run.losses.tolist() for run in law.records]
    assert found.runs[0].losses == tuple(TRACES.loss[:8].tolist())  # recorded as they were
    assert (found.residuals, found.deviations) == ("per_run", ())
    assert found.unseen_loss == TRACES.loss.max()  # a run unlike all others has the greatest that was seen


def test_a_fitted_instance_has_a_plan_that_keeps_its_target_and_remembers_its_runs(fitted):
    plan = solve(fitted, "enumerate").plan
    assert plan.epochs
    assert evaluate(fitted, plan).quantile.upper <= 1.2
    assert fit_instance(TRACES, setup(), residuals="independent").traced_law.unseen_loss is None
    for instance in (fitted, fit_instance(TRACES, setup(), law="independent")):
        assert Instance.from_json(instance.to_json()).run_fingerprints == fingerprints(TRACES)
    own = TRACES.select([3])  # so that they cannot judge
    renamed = Traces(["new"] * own.rows, own.epoch, own.model, own.cluster, np.round(own.loss, 4))
    with pytest.raises(InvalidInputError, match=r"'new' was used to choose the plan.* it is run 'r3' of"):
        held_out(renamed, fitted, own.schedules[0])


REFUSED = [
    *(({"diverged": wrong}, "whole number of runs from 0 to 1000") for wrong in (-1, 1.0, True)),
    *(({"diverged": 1, **law}, "counted beside whole runs") for law in PARTS),
    *(({"confidence": wrong}, "at least 0.5 and below 1") for wrong in (0.4, 1.0)),
    *(({"confidence": 0.9, **law}, "a confidence counts whole runs") for law in PARTS),
    ({"care": 1.5}, "must lie between 0 and 1"),
    ({"law": "linear"}, "must be affine or independent"),
    ({"metric": "error_rate"}, "no error_rate and no accuracy"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_impossible_options_are_refused_with_their_name(options, message):
    error = refusal(fit_instance, TRACES, setup(), **options)
    assert error.path == f".{next(iter(options))}"
    assert message in error.message


def test_the_target_is_that_of_the_setup_from_the_mean_loss_before_training(fitted):
    first = TRACES.loss[TRACES.epoch == 0]
    assert fitted.target.initial_loss == pytest.approx(first.mean(), rel=1e-6)
    assert fitted.target.maximum_loss == 1.2
    found = fit_instance(TRACES, setup(target=SETUP["target"] | {"initial_loss": 9}))
    assert found.target.initial_loss == 9
    assert "$.target.initial_loss" not in {row.path for row in found.provenance}


def test_a_margin_that_too_few_plans_tell_is_never_lost_silently():
    found = fit_instance(TRACES, setup())
    assert (found.traced_law.care, found.traced_law.only_whole_runs) == (0.95, True)
    told = only_whole_runs(found.traced_law)
    assert "takes 19 schedules that can be held out; the traces have 3" in told
    assert found.traced_law.settled_epochs == SETTLED_EPOCHS == 3
    none, zero = (fit_instance(TRACES, setup(), care=care) for care in (None, 0))
    assert zero.to_json() == none.to_json()
    assert (none.traced_law.deviations, none.traced_law.only_whole_runs) == ((), False)


def test_an_error_rate_may_take_the_place_of_the_loss():
    rates = with_losses(TRACES.loss, accuracy=1 - TRACES.loss / 4)
    target = SETUP["target"] | {"maximum_loss": 0.3}
    found = fit_instance(rates, setup(target=target), metric="error_rate")
    assert found.target.initial_loss == pytest.approx(TRACES.loss[TRACES.epoch == 0].mean() / 4, rel=1e-6)
    assert found.traced_law.unseen_loss == pytest.approx(TRACES.loss.max() / 4)
    assert "error_rate" in {row.path: row.note for row in found.provenance}["$.traced_law.runs"]


def test_clusters_of_traces_and_setup_have_to_match_as_models_have():
    first, second = SETUP["clusters"]
    for clusters, path, message in (
        ([first, second | {"name": "moon"}], ".clusters[1].name", "no run trained on 'moon'"),
        ([first], ".cluster[3]", "'far' is not among the clusters"),
    ):
        error = refusal(fit_instance, TRACES, setup(clusters=clusters, transfers=[]))
        assert error.path == path
        assert message in error.message


def test_runs_that_were_not_evaluated_before_training_make_a_law_of_the_first_epoch():
    found = fit_instance(without_first_epoch(TRACES), setup())
    assert not found.traced_law.evaluated
    assert not found.rules.may_stop
    assert {run.first_epoch for run in found.traced_law.runs} == {1}
    assert found.traced_law.unseen_loss == TRACES.loss[TRACES.epoch > 0].max()
    (row,) = [row for row in found.provenance if row.path == "$.target.initial_loss"]
    assert "in 60 runs estimated from epoch 1 on" in row.note
    solved = solve(found, "enumerate")
    assert evaluate(found, solved.plan).feasible


def test_the_paper_laws_then_begin_where_the_first_epoch_ends_as_it_was_seen_in_the_mean():
    late = without_first_epoch(TRACES)
    found = fit_instance(late, setup(), law="independent")
    gain = found.model("full").improvement
    after = found.target.initial_loss - gain.scale / (1 + gain.offset) ** 0.5
    assert after == pytest.approx(late.loss[late.epoch == 1].mean(), rel=1e-3)
    low = {**SETUP["target"], "maximum_loss": 50.0}
    error = refusal(fit_instance, late, setup(target=low), law="independent")
    assert "give initial_loss in the target of the setup" in error.message
    given = fit_instance(late, setup(target={**low, "initial_loss": 60.0}), law="independent")
    assert given.target.initial_loss == 60


def test_runs_that_trained_nothing_or_are_too_few_for_a_law_are_refused():
    only = Traces(np.array(["a", "b"]), np.zeros(2, int), ["full", "cut"], ["edge", "far"], np.ones(2))
    assert "no run has an epoch" in refusal(fit_instance, only, setup(), law="independent").message
    few = TRACES.select([40, 41, 42])
    assert "too few for the affine law" in refusal(fit_instance, few, setup()).message
    assert fit_instance(few, setup(), law="independent").traced_law is None


def with_losses(loss, **metrics):
    """The traces with other losses."""
    return Traces(TRACES.run, TRACES.epoch, TRACES.model, TRACES.cluster, loss, metrics)


def test_a_model_whose_loss_stands_still_is_refused_with_its_place():
    cut, start = TRACES.model == "cut", TRACES.metrics["start_loss"]
    still = with_losses(np.where(cut, 1.0, TRACES.loss), start_loss=np.where(cut, 1.0, start))
    error = refusal(fit_instance, still, setup())
    assert error.path == ".models[1].name"
    assert "the improvements of 'cut' cannot be fitted" in error.message


def test_laws_are_those_of_the_paper_where_that_is_honest_and_as_observed_elsewhere():
    rng = np.random.default_rng(5)
    even = traces_of(9 - 0.5 * np.tile(np.arange(5), (3, 1)), "full")
    found = fitting.improvement_law(fit_traces(even, rng, resamples=49).improvements[Combination("full")])
    assert isinstance(found, ConstantImprovement)
    assert (found.scale, found.noise.moments()) == (pytest.approx(0.5), (1, 0))
    honest = fitting.switch_law(fit_switch(0.3 + 0.1 * rng.standard_t(4, 80), rng, 199))
    assert isinstance(honest, StudentT | Normal)
    jumps = np.concatenate([rng.normal(0, 0.01, 60), rng.normal(5, 0.01, 20)])
    seen = fitting.switch_law(fit_switch(jumps, rng, 199))
    assert isinstance(seen, Empirical)
    assert seen.moments().mean == pytest.approx(jumps.mean())
    assert fitting.switch_law(fit_switch([0.25, 0.25], rng)).moments() == (0.25, 0)
    assert fitting.switch_law(fit_switch([0.25, 0.5], rng)).values == (0.25, 0.5)


def test_many_observed_values_are_drawn_together_without_moving_the_mean():
    rng = np.random.default_rng(6)
    few = rng.normal(size=fitting.MOST_VALUES)
    assert fitting.observed_law(few).values == tuple(
        fitting.significant(value, 7) for value in np.sort(few).tolist()
    )
    for values in (rng.normal(3, 2, 5000), rng.standard_t(2.5, 5000)):
        law = fitting.observed_law(values)
        assert len(law.values) < 500
        assert sum(law.weights) == values.size
        assert law.moments().mean == pytest.approx(values.mean(), abs=1e-6)
        assert values.var() * (1 - 1 / 1600) <= law.moments().variance * (1 + 1e-6)
        assert law.moments().variance <= values.var() * (1 + 1e-6)


# --- setups ----------------------------------------------------------------------------------------------

STILL = ConstantImprovement(noise=Deterministic(value=0.5))
BOTH = {"full": STILL, "cut": STILL}
SHARED = ("name", "description", "clusters", "datasets", "transfers", "provenance")


def test_an_instance_has_all_that_the_setup_has_and_a_setup_survives_its_own_json():
    found = setup().with_improvements(BOTH, 3.5)
    document, models = json.loads(found.to_json()), SETUP["models"]
    assert document["target"] == SETUP["target"] | {"initial_loss": 3.5}
    assert [model.name for model in found.models] == [model["name"] for model in models]
    assert {name: document[name] for name in SHARED} == {name: SETUP[name] for name in SHARED}
    assert (found.model("full").demand, found.model("cut").improvement) == (2, STILL)
    target = SETUP["target"] | {"initial_loss": 4, "round_deadline": 9}
    given = setup(target=target).with_improvements(BOTH, 3.5, name="other")
    assert (given.target.initial_loss, given.target.round_deadline, given.name) == (4, 9, "other")
    assert Setup.from_json(setup().to_json()) == setup()


WRONG = """
format | "depl-instance" | $.format | a 'depl-setup' one is needed
version | 2 | $.version | update one of them
models[0].improvement | {} | $.models[0].improvement | no such field
target.initial_model | "full" | $.target.initial_model | no such field
datasets | [{"name": "a", "volume": 1}, {"name": "b", "volume": 1}] | $.datasets | give one dataset
clusters[0].capacity | -1 | $.clusters[0].capacity | > 0
format | ABSENT | $.format | write "depl-setup"
name | ABSENT | $.name | is missing: a unique name
name | " a" | $.name | 'depl instances schema --setup'
target.maximum_time | ABSENT | $.target | give maximum_time or round_deadline
"""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_what_is_no_setup_is_refused_with_its_place_and_in_words_of_setups(row):
    """What is checked as in an instance is a row of `tests.cases.bad_instances`."""
    place, value, path, message = row.split(" | ")
    document = put(SETUP, place, ABSENT if value == "ABSENT" else json.loads(value))
    error = refusal(Setup.from_json, json.dumps(document))
    assert error.path == path
    assert message in error.message


def test_the_schema_accepts_a_setup_and_refuses_an_instance():
    schema = setup_schema()
    jsonschema.validate(SETUP, schema)
    instance = setup().with_improvements(BOTH, 3.5)
    for wrong in (json.loads(instance.to_json()), {**SETUP, "clusters": []}, {"name": "a"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
