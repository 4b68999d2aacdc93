"""The rest of a run under way under a traced law: against every combination of what may still be drawn."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.models.evaluation.loss_law import loss_law
from depl.models.evaluation.traced_loss import end_law, require_supported
from depl.models.evaluation.traced_survival import traced_survival
from depl.models.foundation.documents import decode_document, encode_document
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import Known, following, positions
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import ObservedRun, Stage
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.solve import solve
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import decimal
from depl.models.verifier.traces import traced_loss
from tests.cases.memory_cases import FAR, FULL, every_schedule
from tests.cases.observed_run_cases import observed_cases, rest_of
from tests.cases.traced_law_cases import halves, plan_of
from tests.models.evaluation.test_traced_sampling import quantiles, stream
from tests.oracles.observed_run import ObservedOracle
from tests.oracles.traced_law import Schedule, on_scale


@pytest.fixture(scope="module", params=[12, pytest.param(120, marks=pytest.mark.slow)])
def states(request):
    return observed_cases(request.param)


def maxima_of(oracle: ObservedOracle, schedule: Schedule) -> list[float]:
    values, _ = oracle.finals(schedule)
    seen = values[np.isfinite(values)]
    return [float(loss) for loss in oracle.observed(np.quantile(seen, [0.1, 0.45, 0.8, 1.0]))]


def test_rests_are_inside_the_support_with_the_probability_that_all_combinations_have(states):
    """The solvers' and the verifier's, and no other rest is inside."""
    asked = wholes = under_way = inside = outside = 0
    for document, oracle, schedules in states:
        for schedule in every_schedule(rest_of(document))[::3]:
            if schedule not in schedules:
                with pytest.raises(InvalidInputError, match=r"outside the support|runs? went through"):
                    require_supported(document, schedule)
                assert traced_loss(document, schedule).outside is not None
                outside += 1
                continue
            require_supported(document, schedule)
            checked = traced_loss(document, schedule)
            for maximum in maxima_of(oracle, schedule):
                above, all_weight = oracle.share_above(schedule, maximum)
                found = end_law(document, schedule).violation(maximum)
                assert found.lower <= above / all_weight + 1e-12
                assert found.upper >= above / all_weight - 1e-12
                assert found.upper - found.lower < 1e-9
                limit = decimal(on_scale(document, maximum).item() + 1e-9) - checked.certain
                share = checked.beyond + (1 - checked.beyond) * Fraction(
                    tail_probability(checked.increments, limit).lower
                )
                assert float(share) == pytest.approx(above / all_weight, abs=1e-9)
                asked += 0 < above < all_weight
            inside += 1
            wholes += bool(oracle.through(schedule))
            under_way += oracle.past[-1:] == schedule[:1]
        assert oracle.past == document.trained_before
    assert min(inside, outside, asked) > len(states) / 2
    assert min(wholes, under_way) > len(states) / 9


def test_when_a_run_under_way_meets_the_target_is_that_of_all_combinations(states):
    asked = 0
    for document, oracle, schedules in states:
        if document.residuals != "per_run":
            continue
        for schedule in schedules[::2]:
            for maximum in maxima_of(oracle, schedule):
                found = traced_survival(document, schedule, maximum)
                wanted = survival_by_combinations(oracle, schedule, maximum)
                assert [item.exact for item in found] == wanted
                asked += len(set(wanted)) > 1
    assert asked > len(states)


def survival_by_combinations(oracle: ObservedOracle, schedule: Schedule, maximum: float) -> list[Fraction]:
    """Shares of the combinations in which all losses so far lie above; unseen donors never reach it."""
    limit = on_scale(oracle.document, maximum) + 1e-9
    if oracle.loss <= limit:
        return [Fraction(0)] * (len(schedule) + 1)
    if oracle.through(schedule):
        paths = [oracle.with_beside(row) for row in oracle.followed(schedule)]
        moved = [np.zeros(1)] * len(paths)
    else:
        seen = oracle.followed(schedule)
        padded = [with_unlike(oracle, schedule, k, losses) for k, losses in enumerate(seen[:-1])]
        paths = [*padded, oracle.with_unseen(seen[-1])]
        moved = [np.zeros(1), *[oracle.deviations] * len(schedule)]
    alive, found = np.ones((1, 1), dtype=bool), []
    for losses, offsets in zip(paths, moved, strict=True):
        above = np.add.outer(losses, offsets) > limit
        alive = above & alive.reshape(alive.shape if alive.ndim == above.ndim else (1,) * above.ndim)
        found.append(Fraction(int(alive.sum()), alive.size))
    return found


def with_unlike(oracle: ObservedOracle, schedule: Schedule, k: int, losses: np.ndarray) -> np.ndarray:
    """The donors beside for every stage, infinite from its first epoch to come on."""
    if oracle.unseen is None:
        return losses
    found = losses
    for axis, (part, _) in enumerate(oracle.parts(schedule)):
        beside = [(0, oracle.beside * (axis == other)) for other in range(losses.ndim)]
        begun = max(0, part.start - len(oracle.past)) < k
        mode = {"mode": "constant", "constant_values": np.inf} if begun else {"mode": "edge"}
        found = np.pad(found, beside, **mode)
    return found


def test_scenarios_of_a_rest_are_the_quantiles_at_its_own_numbers(states):
    """Epochs, and with them the numbers of the stream, are counted from the first one to come."""
    asked = 0
    for document, oracle, schedules in states:
        instance = rest_of(document, maximum_epochs=4)
        sample, numbers = draw_scenarios(instance, 7, seed=5), stream(5, 7)
        for schedule in schedules[::3]:
            whole = oracle.through(schedule)
            if document.residuals == "per_run" and whole:
                values, weights = oracle.finals(schedule)
                wanted = quantiles(values, numbers(1, schedule[0][0]), weights)
            elif document.residuals == "per_run":
                continue  # what stages add apart is compared for plans from their start
            else:
                wanted = np.full(7, oracle.loss)
                for k, place in enumerate(oracle.ahead(schedule), start=1):
                    drawn = quantiles(oracle.residuals(place), numbers(k, place.trained[0]))
                    wanted = oracle.step(place, wanted, drawn)
                if document.deviations:
                    last = schedule[-1][0]
                    wanted = wanted + quantiles(np.array(document.deviations), numbers(2, last, last))
            found = loss_law(instance).in_scenarios(plan_of(schedule), sample)
            assert on_scale(document, found) == pytest.approx(wanted, abs=1e-9)
            asked += 1
    assert asked > len(states) / 2


def test_a_state_by_hand():
    """After one epoch the loss is 2.5, which no run had; a half is drawn or not, whatever it was."""
    rest = halves(8).after((FULL,), 2.5)
    assert rest.known == Known(1, 2.5)
    assert end_law(rest, (FAR,)).violation(1.5).exact == Fraction(1, 2)
    assert [item.exact for item in traced_survival(rest, (FAR,), 1.5)] == [1, Fraction(1, 2)]
    assert [item.exact for item in traced_survival(rest, (FAR,), 2.5)] == [0, 0]


def test_a_stage_under_way_goes_on_at_its_age_and_a_law_gone_on_with_twice_is_gone_on_with_once():
    full, far = positions((FULL, FULL, FULL)), positions((FULL, FULL, FAR))
    assert following(full[1], FULL) == full[2]
    assert (Known(2, 1.0).first_age(full[2]), Known(2, 1.0).first_age(far[2])) == (3, 1)
    law = halves(8)
    twice = law.after((FULL,), 2.2).after((FAR,), 1.2)
    assert twice == law.after((FULL, FAR), 1.2)
    assert [stage.model for stage in twice.observed.stages] == ["full", "cut"]
    assert law.after((FULL,), 1.0).after((FULL,), 0.5).observed.stages[0].epochs == 2


def test_a_run_under_way_is_written_and_read():
    instance = rest_of(halves(8).after((FULL,), 2.5))
    again = decode_document(encode_document(instance), Instance)
    assert (again, again.fingerprint) == (instance, instance.fingerprint)
    assert instance.fingerprint != rest_of(halves(8).after((FULL,), 2.4)).fingerprint


STAGE = Stage(model="full", cluster="edge", epochs=1)
AFTER_ONE = halves(8).after((FULL,), 2.5)
ELSEWHERE = ObservedRun(stages=(msgspec.structs.replace(STAGE, model="none"),), loss=2.5)
UNKNOWN = msgspec.structs.replace(AFTER_ONE, observed=ELSEWHERE)


@pytest.mark.parametrize(
    ("ask", "path", "said"),
    [
        (lambda: rest_of(AFTER_ONE, initial_loss=2.0), ".target.initial_loss", "stands at 2.5"),
        (lambda: rest_of(AFTER_ONE, initial_model="cut"), ".target.initial_model", "stands at 'full'"),
        (lambda: rest_of(AFTER_ONE, initial_model=None), ".target.initial_model", "make the two equal"),
        (
            lambda: rest_of(UNKNOWN, initial_model=None),
            ".traced_law.observed.stages[0].model",
            "'none' is not defined",
        ),
        (lambda: ObservedRun(stages=(STAGE, STAGE), loss=1.0), None, "join the two"),
        (lambda: halves(8, scale="log").after((FULL,), 0.0), ".observed.loss", "only positive losses"),
    ],
)
def test_a_state_that_no_run_can_be_in_is_refused(ask, path, said):
    with pytest.raises(InvalidInputError, match=said) as caught:
        ask()
    assert path in (None, caught.value.path)


def test_a_confidence_says_nothing_of_a_rest():
    law = halves(24, unseen_loss=4.0, confidence=0.9).after((FULL,), 2.5)
    with pytest.raises(InvalidInputError, match="fit without a confidence"):
        require_supported(law, (FAR,))
    assert traced_loss(law, (FAR,)).outside is not None
    assert solve(rest_of(law, maximum_loss=2.5), "enumerate").cost == 0  # to stop needs no promise
