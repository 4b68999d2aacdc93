"""Planning the rest of a run again under a traced law: states, the rule, and what is said of it."""

import itertools
import re
from fractions import Fraction

import msgspec
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import FittedJump, FittedStep, Stage, TracedLaw
from depl.models.solving.observed_state import State, check_state, planned_state, remaining_instance
from depl.models.solving.replanning import Choice, replan
from depl.models.solving.solve import solve
from depl.models.verifier.verify import verify
from tests.cases.memory_cases import CUT, FAR, FULL, instance_of, run_of
from tests.cases.traced_law_cases import halves, plan_of
from tests.oracles.observed_run import ObservedOracle


def staircase(**fields: object) -> TracedLaw:
    """An epoch ``full`` from 4 to 2 or 3; then to a quarter of that and 1 or 2 more, here or there.

    All 16 runs of two kinds (each kind ends in one of two losses) have been in both states.
    """
    runs = []
    for index, first, second in itertools.product(range(4), (2.0, 3.0), (0.0, 1.0)):
        end, weaker = (FAR, 0.0) if index % 2 else (CUT, 0.25)
        runs.append(run_of([(FULL, 1), (end, 1)], [4.0, first, 1.0 + 0.25 * first + second + weaker]))
    jumps = [
        FittedJump(
            previous_model="full",
            previous_cluster="edge",
            model=model,
            cluster=cluster,
            intercept=intercept,
            retention=0.25,
        )
        for (model, cluster), intercept in ((FAR, 1.5), (CUT, 1.75))
    ]
    step = FittedStep(model="full", cluster="edge", first=True, age=1, intercept=0.5, retention=0.5)
    return TracedLaw(runs=runs, steps=[step], jumps=jumps, residuals="independent", **fields)


def instance(**target: object) -> Instance:
    return instance_of(staircase(), **{"maximum_loss": 1.8, "quantile_level": 0.5, **target})


def test_the_rest_is_planned_from_the_stages_of_the_plan() -> None:
    found = replan(instance(), plan_of((FULL, FAR)), State(epoch=1, loss=2.0, model="full"))
    assert found.state.stages == (Stage(model="full", cluster="edge", epochs=1),)
    assert found.remaining is not None
    assert found.remaining.traced_law is not None
    assert found.remaining.traced_law.trained_before == (FULL,)
    assert found.old.evaluation.violation.exact == Fraction(1, 2)
    assert found.plan is not None
    assert found.result.rests_on is not None
    assert found.result.rests_on.startswith("the loss seen after 1 epoch")


def test_the_new_rest_is_the_cheapest_of_all() -> None:
    """Both ends miss 1.8 from a loss of 2 or 3 as often as counted by hand."""
    asked, half = instance(), Fraction(1, 2)
    for loss, ends in ((2.0, {FAR: half, CUT: half}), (3.0, {FAR: half, CUT: 1})):
        state = State(epoch=1, loss=loss, model="full")
        found = replan(asked, plan_of((FULL, FAR)), state)
        rest = remaining_instance(asked, found.state)
        oracle = ObservedOracle(rest.traced_law)
        for end, missed in ends.items():
            above, everything = oracle.share_above((end,), 1.8)
            assert Fraction(above, everything) == missed
        assert found.result.plan is not None
        assert verify(rest, found.result.plan).ok


def test_the_rule_keeps_the_promise_over_all_runs_where_residuals_are_independent() -> None:
    """All states of the first epoch, equally likely: what is followed misses as often as the plan at most."""
    asked, plan = instance(), plan_of((FULL, FAR))
    promised = solve(asked).violation
    assert promised is not None
    missed, changed = [], 0
    for loss in (2.0, 3.0):
        state = State(epoch=1, loss=loss, model="full")
        found = replan(asked, plan, state, keep_promise=True)
        assert found.holds_over_all_runs
        assert found.plan is not None
        above, everything = ObservedOracle(found.remaining.traced_law).share_above(found.plan.schedule, 1.8)
        missed.append(Fraction(above, everything))
        assert missed[-1] <= found.old.evaluation.violation.exact
        changed += found.choice is Choice.NEW
    assert sum(missed) / 2 <= Fraction(1, 2)
    assert changed


@pytest.mark.parametrize(
    ("fields", "holds"),
    [({}, True), ({"deviations": (0.0, 0.1)}, False), ({"residuals": "per_run"}, False)],
)
def test_where_the_rule_proves_nothing_over_all_runs_it_says_so(
    fields: dict[str, object], holds: bool
) -> None:
    asked = instance_of(msgspec.structs.replace(staircase(), **fields), maximum_loss=3.0, quantile_level=0.5)
    found = replan(asked, plan_of((FULL, FAR)), State(epoch=1, loss=3.0, model="full"), keep_promise=True)
    assert (found.holds_over_all_runs, found.met, found.choice) == (holds, True, Choice.STOP)


def test_a_loss_that_no_run_had_leaves_the_old_rest_unknown() -> None:
    found = replan(instance(), plan_of((FULL, FAR)), State(epoch=1, loss=9.0, model="full"))
    assert found.old.outside is not None
    assert "a loss of 9" in found.old.outside
    assert (found.old.evaluation.violation.lower, found.old.evaluation.violation.upper) == (0, 1)
    assert found.choice is Choice.NONE
    kept = replan(instance(), plan_of((FULL, FAR)), State(epoch=1, loss=9.0, model="full"), keep_promise=True)
    assert kept.choice is Choice.RETIMED  # its epochs may be slower, as no time was lost


def test_a_rest_is_planned_again_from_a_state_of_its_own() -> None:
    asked = instance_of(halves(8), maximum_loss=1.5, quantile_level=0.5)
    rest = remaining_instance(asked, State(epoch=0, loss=4.0))
    assert rest.traced_law.trained_before == ()
    state = State(epoch=1, loss=2.5, model="full", stages=(_stage(FULL),))
    assert remaining_instance(rest, state).traced_law == remaining_instance(asked, state).traced_law


def _stage(pair: tuple[str, str]) -> Stage:
    return Stage(model=pair[0], cluster=pair[1], epochs=1)


# --- states -----------------------------------------------------------------------------------------------


def test_a_state_on_a_plan_has_its_stages_under_a_traced_law_alone() -> None:
    state = planned_state(instance(), plan_of((FULL, FAR)), 2, 1.0)
    assert state.stages == (_stage(FULL), _stage(FAR))
    assert State.from_json(state.to_json()) == state
    bare = planned_state(instance_of(None), plan_of((FULL, FAR)), 2, 1.0)
    assert bare.stages is None


def test_without_stages_the_rest_has_no_law() -> None:
    with pytest.raises(InvalidInputError, match="list the stages so far") as caught:
        remaining_instance(instance(), State(epoch=1, loss=2.0, model="full"))
    assert caught.value.path == "$.stages"


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        (
            {"epoch": 2, "model": "full", "stages": (_stage(FULL),)},
            ".stages",
            "1 epochs in all, but epoch is 2",
        ),
        ({"epoch": 1, "model": "cut", "stages": (_stage(FULL),)}, ".stages[0].model", "but model is 'cut'"),
        ({"epoch": 2, "model": "full", "stages": (_stage(FULL),) * 2}, ".stages[1]", "join the two"),
    ],
)
def test_stages_that_do_not_fit_the_state_are_refused(
    fields: dict[str, object], path: str, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        State(loss=1.0, **fields)
    assert caught.value.path == path


def test_stages_that_are_not_those_of_the_plan_or_of_the_instance_are_refused() -> None:
    state = State(epoch=1, loss=2.0, model="full", stages=(Stage(model="full", cluster="far", epochs=1),))
    with pytest.raises(InvalidInputError, match="not those of the plan") as caught:
        check_state(instance(), state, plan_of((FULL, FAR)))
    assert caught.value.path == "$.stages"
    state = State(epoch=1, loss=2.0, model="full", stages=(Stage(model="full", cluster="none", epochs=1),))
    with pytest.raises(InvalidInputError, match="'none' is not defined") as caught:
        check_state(instance(), state)
    assert caught.value.path == "$.stages[0].cluster"


def test_the_answer_says_what_it_rests_on_and_where_nothing_is_known_or_proved() -> None:
    state = State(epoch=1, loss=2.0, model="full")
    text = str(replan(instance(), plan_of((FULL, FAR)), state, keep_promise=True))
    assert re.search(r"P\(l\(K\) <= 1\.8 \| state\) +is 0\.5, certified under the fitted law, ", text)
    assert re.search(r"kept over all runs +yes", text)
    assert "the loss seen after 1 epoch" in text
    law = msgspec.structs.replace(staircase(), residuals="per_run")
    asked = instance_of(law, maximum_loss=1.8, quantile_level=0.5)
    state = State(epoch=1, loss=9.0, model="full")
    text = str(replan(asked, plan_of((FULL, FAR)), state, keep_promise=True))
    assert re.search(r"state\) +is not known: outside the support of the traces: a loss", text)
    assert re.search(r"kept over all runs +not proved", text)
