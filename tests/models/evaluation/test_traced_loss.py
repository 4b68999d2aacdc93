"""What a traced law says of a schedule: against every combination of runs, followed epoch by epoch.

The law of the solvers and that of the verifier are asked the same, and so are their supports; stopping early
is asked of the solvers.
"""

import dataclasses
import itertools
import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.benchmarks.figures.trajectory import trajectory
from depl.models.evaluation import traced_loss as traced_module
from depl.models.evaluation.evaluate import evaluate, final_loss, plan_steps
from depl.models.evaluation.traced_law import lent, runs_to_carry
from depl.models.evaluation.traced_loss import (
    end_law,
    require_supported,
    traced_survival,
    untrained_law,
    whole,
)
from depl.models.evaluation.traced_support import extreme_predictions, outside_support
from depl.models.foundation.documents import decode_document, encode_document
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.affine_law import Position
from depl.models.problem.epochs import compose
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import FittedStep, ObservedRun, Stage, TracedLaw
from depl.models.solving.early_stopping import early_stopping
from depl.models.verifier.traces import traced_loss, untrained
from tests.cases.memory_cases import CUT, FAR, FULL, every_schedule, fitted, instance_of, random_law, run_of
from tests.cases.observed_run_cases import observed_cases, rest_of
from tests.cases.traced_law_cases import cases, halves, plan_of, verified
from tests.oracles import traced_law as oracle_module
from tests.oracles.traced_law import Oracle, Section, sections
from tests.problems import refusal


@pytest.fixture(scope="module")
def laws():
    """Whole plans, and rests of runs under way."""
    return [*cases(14), *observed_cases(8)]


# --- the final loss ---------------------------------------------------------------------------------------


def test_the_final_loss_is_that_of_all_combinations(laws):
    wholes = switching = 0
    for document, oracle, schedules in laws:
        for schedule in schedules[::2]:
            assert whole(document, schedule) == bool(oracle.whole(schedule))
            found = end_law(document, schedule)
            values, weights = oracle.law(schedule)
            seen = np.isfinite(values)
            assert found.beyond == 1 - Fraction(int(weights[seen].sum()), int(weights.sum()))
            if found.beyond:
                assert (found.mean(), found.variance()) == (math.inf, math.inf)
            likely = dataclasses.replace(found, beyond=Fraction(0))
            for law, ends in ((found.scaled, values[seen]), (likely, oracle.observed(values[seen]))):
                mean = np.average(ends, weights=weights[seen])
                assert law.mean() == pytest.approx(mean, abs=1e-10)
                spread = np.average((ends - mean) ** 2, weights=weights[seen])
                assert law.variance() == pytest.approx(spread, abs=1e-10)
            for maximum in oracle.observed(np.quantile(values[seen], [0.02, 0.5, 0.9, 1.0])).tolist():
                wanted = oracle.violation(schedule, maximum)
                assert found.violation(maximum).exact == wanted
                assert found.exceedance(found.limit(maximum)).exact == wanted
                assert verified(document, schedule, maximum) == wanted
            if document.scale == "log":  # of which no loss is 0 or less
                assert [found.violation(maximum).exact for maximum in (0.0, -1.0)] == [1, 1]
            order = np.argsort(values)
            reached = np.cumsum(weights[order])
            for budget in (Fraction(1, 20), Fraction(3, 10)):
                enough = reached >= float((1 - budget) * Fraction(int(weights.sum()))) - 1e-6
                wanted = oracle.observed(values[order][np.argmax(enough)])
                quantile = found.quantile(budget)
                assert quantile.lower - 1e-9 <= wanted <= quantile.upper + 1e-9
                assert quantile.lower == quantile.upper == math.inf or quantile.width < 1e-9
            wholes += bool(oracle.whole(schedule))
            switching += len(set(schedule)) > 1
    assert min(wholes, switching) >= len(laws)


def test_schedules_are_inside_the_support_as_its_statement_says(laws):
    inside = outside = 0
    for document, oracle, _ in laws:
        maximum_epochs = 4 - min(3, len(oracle.past))
        for schedule in every_schedule(instance_of(None, maximum_epochs=maximum_epochs))[::3]:
            supported, trained = oracle.supported(schedule), document.from_start(schedule)
            assert oracle.past == document.trained_before
            assert (not outside_support(document.law, trained, document.known)) == oracle.inside(schedule)
            assert (traced_loss(document, schedule).outside is None) == supported
            inside, outside = inside + supported, outside + (not supported)
    assert min(inside, outside) > len(laws)


def test_extreme_predictions_are_those_at_the_first_and_the_last_start_of_the_hull():
    """After the predecessor that a row is of alone, or any; from the ends of what the row was fitted to."""
    most = 0
    for document, oracle, _ in cases(8):
        wanted = set()
        for (trained, first, age, previous), row in oracle.rows.items():
            before = None if first else previous or ("any", "other")
            hull = [start for start in range(8) if oracle._in_hull(Section(trained, before, start, age))]
            for start in [0] if first else sorted({*hull[:1], *hull[-1:]}):
                losses = [oracle.losses[run][k - 1] for run, k in row.pool]
                mean = row.intercept + row.slope * oracle_module.regressor(start)
                ends = (mean + row.retention * end for end in (min(losses), max(losses)))
                wanted |= {(trained, previous, age, start, round(end, 9)) for end in ends}
            most = max(most, len(hull))
        found = extreme_predictions(document.law)
        assert {(*place[:2], place.age, place.start, round(end, 9)) for place, _, end in found} == wanted
    assert most > 2


def forked(law):
    """Every run twice: the second one has another last loss, and the same beginning."""
    runs = []
    for number, run in enumerate(law.runs):
        first = msgspec.structs.replace(run, origin=number)
        losses = (*run.losses[:-1], round(run.losses[-1] + 0.001, 3))
        runs += [first, msgspec.structs.replace(first, losses=losses)]
    return msgspec.structs.replace(law, runs=tuple(runs))


def test_forks_of_every_run_change_no_promise_here_or_for_the_verifier():
    """Runs that share their first epochs count as one with every plan and stage."""
    for law, _, schedules in cases(14):
        if law.residuals != "per_run":
            continue
        twice = forked(law)
        for schedule in schedules[::3]:
            assert end_law(law, schedule) == end_law(twice, schedule)
            proofs = [traced_loss(item, schedule).increments for item in (law, twice)]
            for mine, others in zip(*proofs, strict=True):
                assert np.sort(mine.law.values) == pytest.approx(np.sort(others.law.values), abs=1e-12)
        assert untrained_law(law, 1.0) == untrained_law(twice, 1.0)
        assert untrained(law) == untrained(twice)


# --- who lends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("same", "other", "donors"), [(20, 9, 20), (19, 9, 14 + 9), (18, 9, 14 + 9)])
def test_twenty_runs_after_the_same_predecessor_lend_alone(same, other, donors):
    """Of 18 and 9 the median is 13.5, rounded up, and of 19 and 9 it is 14; whole runs are ruled out here."""
    rng, plan = np.random.default_rng(same + 100 * other), (FULL, FAR, FAR)
    designs = [[(FULL, 1), (FAR, 2)]] * same + [[(CUT, 1), (FAR, 3)]] * other
    runs = [run_of(stages, rng.uniform(1, 2, 2 + stages[1][1])) for stages in designs]
    law = fitted(runs, rng, whole_runs=1_000)
    oracle, found = Oracle(law), end_law(law, plan)
    assert len(oracle.donors(sections(plan)[1])) == donors
    for maximum in np.quantile(oracle.law(plan)[0], [0.2, 0.7]).tolist():
        wanted = oracle.violation(plan, maximum)
        assert verified(law, plan, maximum) == found.violation(maximum).exact == wanted


def test_a_run_with_two_such_stages_lends_the_first():
    rng = np.random.default_rng(8)
    designs = [[(FULL, 1), (FAR, a), (CUT, 1), (FAR, 3 - a)] for a in (2, 1) for _ in range(6)]
    law = fitted([run_of(stages, np.round(rng.uniform(1, 2, 6), 3)) for stages in designs], rng)
    for place in (Position(FAR, FULL, 1, 1), Position(FAR, CUT, 1, 3), Position(FAR, CUT, 2, 3)):
        lending = lent(law.law, place)
        wanted = Oracle(law).lending(Section(FAR, place.previous, place.start, place.age))
        assert len(lending.donors) == 12
        assert lending.residuals == pytest.approx(wanted, abs=1e-12)


def test_the_runs_that_carry_a_level_are_those_that_cannot_be_one_fewer():
    """Of n that met the target and d that diverged; with a confidence the upper end for d of n + d counts."""
    for level, confidence, lost in itertools.product((0.5, 0.8, 0.937, 0.95), (None, 0.6, 0.95), (0, 1, 3)):
        omega, needed = Fraction(repr(level)), runs_to_carry(level, confidence, lost)

        def carried(runs, omega=omega, confidence=confidence, lost=lost):
            if confidence is None:
                return Fraction(lost + 1, runs + lost + 1) <= 1 - omega
            return oracle_module.at_most(lost, runs + lost, 1 - omega) <= 1 - Fraction(repr(confidence))

        assert carried(needed)
        assert needed == 1 or not carried(needed - 1)
    # the classical sample sizes for one failure and for three
    assert [runs_to_carry(0.95, 0.95, lost) + lost for lost in (0, 1, 3)] == [59, 93, 153]
    assert runs_to_carry(0.5, 0.5) == 2  # one ties, and promises count ends rounded up


# --- steps ------------------------------------------------------------------------------------------------


def test_steps_compose_to_the_law_of_independent_residuals():
    for seed in range(4):
        document = random_law(np.random.default_rng(seed), residuals="independent")
        for schedule in filter(Oracle(document).supported, every_schedule(instance_of(document))[::2]):
            end = end_law(document, schedule).scaled
            steps = plan_steps(instance_of(document), plan_of(schedule))
            found = compose(123.0, steps)  # the first epoch draws its own l(0)
            assert (found.mean(), found.variance()) == pytest.approx((end.mean(), end.variance()), abs=1e-12)
            assert len(steps) == len(schedule)


def test_logarithms_and_runs_kept_together_have_no_steps_of_the_loss():
    plan, rng = plan_of((FULL, FAR)), np.random.default_rng(1)
    logged = random_law(rng, residuals="independent", scale="log")
    schedule = next(filter(Oracle(logged).supported, every_schedule(instance_of(logged))))
    for ask, words in (
        (lambda: plan_steps(instance_of(logged), plan_of(schedule)), "are those of the logarithm"),
        (lambda: final_loss(instance_of(logged), plan_of(schedule)), "it is the exponential of one"),
        (lambda: plan_steps(instance_of(halves()), plan), "have no law of their own"),
    ):
        with pytest.raises(NotCoveredError, match=words):
            ask()


@pytest.mark.parametrize("residuals", ["per_run", "independent"])
def test_outside_the_support_everything_refuses_with_the_place(residuals):
    law = halves(residuals=residuals)
    for schedule in ((FAR,), (FULL, FULL), (FULL, FAR, FAR), (FULL, FAR, FULL)):
        for ask in (
            lambda plan: require_supported(law, plan),
            lambda plan: end_law(law, plan),
            lambda plan: plan_steps(instance_of(law), plan_of(plan)),
            lambda plan: traced_survival(law, plan, 1.0),
            lambda plan: evaluate(instance_of(law), plan_of(plan)),
            lambda plan: trajectory(instance_of(law), plan_of(plan), [len(plan)]),
            lambda plan: early_stopping(instance_of(law), plan_of(plan)),
        ):
            with pytest.raises(InvalidInputError, match="outside the support of the traces: ") as caught:
                ask(schedule)
            assert caught.value.path == "$.epochs"
    assert "fewer than 6 runs were" in outside_support(halves(5).law, (FULL,))[0]


# --- plans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("confidence", "lost"), [(None, 0), (None, 3), (0.9, 0), (0.9, 3)])
def test_before_training_one_run_unlike_all_seen_counts_as_a_miss(confidence, lost):
    """Two of twenty runs begin above 5, one more and those that diverged are counted; or a binomial law."""
    runs = [run_of([(FULL, 1)], (6.0 if k < 2 else 4.0, 1.0 + k / 100)) for k in range(20)]
    step = FittedStep(model=FULL[0], cluster=FULL[1], age=1, intercept=1.0, retention=0.0, first=True)
    law = TracedLaw(runs=tuple(runs), steps=(step,), unseen_loss=7.0, confidence=confidence, diverged=lost)
    instance = instance_of(law, maximum_loss=5.0)
    found = evaluate(instance, Plan()).violation
    if confidence is None:
        assert found.exact == Fraction(3 + lost, 21 + lost)
        assert early_stopping(instance, Plan()).reached.exact == 1 - found.exact
        assert plan_steps(instance, Plan()) == []
    else:
        # P(at most 2 of 20) = 0.1 at the upper end of the one-sided interval
        assert 0.1 - 1e-4 <= stats.binom.cdf(2 + lost, 20 + lost, found.upper) <= 0.1
    ends = depl.check(instance, Plan()).violation
    assert (ends.lower, ends.upper) == pytest.approx((found.lower, found.upper), abs=1e-12)


# --- stopping early ----------------------------------------------------------------------------------------


def exact(law, schedule, maximum_loss):
    return [item.exact for item in traced_survival(law, schedule, maximum_loss)]


def test_survival_is_that_of_all_combinations_and_of_independent_residuals_bounded_from_above(laws):
    """Against every combination followed from epoch to epoch, l(0) and a deviation with it.

    Losses after which a run may not stop do not count.
    """
    rng, asked, combined, widths = np.random.default_rng(4), 0, 0, []
    for document, oracle, schedules in laws:
        for schedule in schedules[::2]:
            if document.residuals == "per_run":
                paths = np.array(oracle.paths(schedule))
                weights = np.ones(paths.shape[1], dtype=int)
            elif len(schedule) <= 3:
                paths, weights = every_path(oracle, schedule)
            else:
                continue
            last = paths[-1][np.isfinite(paths[-1])]
            for level, often in ((0.2, 1.0), (0.6, 1.0), (1.0, 1.0), (0.6, 0.5)):
                maximum = float(oracle.observed(np.quantile(last, level)))
                stops = rng.random(len(schedule) + 1) < often
                limit = oracle_module.on_scale(document, maximum) + 1e-9
                above = np.cumprod((paths > limit) | ~stops[:, None], axis=0)
                found = traced_survival(document, schedule, maximum, None if often == 1 else stops.tolist())
                if document.confidence is not None:
                    assert [item.exact for item in found] == confident_survival(oracle, schedule, above)
                    continue
                for item, row in zip(found, above, strict=True):
                    wanted = Fraction(int(weights[row > 0].sum()), int(weights.sum()))
                    if document.residuals == "per_run":
                        assert item.exact == wanted
                    else:
                        assert wanted <= item.upper
                        assert item.exact in (None, wanted)
                        widths.append(item.upper - float(wanted))
                    asked += 0 < wanted < 1
                combined += oracle.unseen is not None and not oracle.whole(schedule)
    assert asked > 4 * len(laws)
    assert combined > len(laws)
    assert np.median(widths) < 0.01  # wide only where a loss lies at the limit


def confident_survival(oracle, schedule, above):
    """Of so many of n runs that never met the target the upper end."""
    runs = above.shape[1] - 1
    ends = [oracle_module.upper_end(x, runs, oracle.document.confidence or 0) for x in range(runs)]
    ends.append(oracle_module.UNIT)
    return [Fraction(ends[int(row[:-1].sum())], oracle_module.UNIT) for row in above]


def test_stopping_early_is_paid_by_those_who_go_on():
    instance = instance_of(halves(8), maximum_loss=2.0)
    found = early_stopping(instance, plan_of((FULL, FAR)))
    # 3 * 2 for the first epoch; half the runs pay 2 nodes * 1 * 3 and the transfer of 0.75 for the second
    assert found.cost.exact == 6 + Fraction(1, 2) * Fraction("6.75")
    assert found.epochs.exact == Fraction(3, 2)
    assert found.reached.exact == found.final.exact == 1


def every_path(oracle, schedule):
    """l(0), ..., l(K) of all combinations, shape (K + 1, n), and their weights; equal ones together."""
    starts = oracle.first_losses(schedule[0]) if oracle.now is None else np.array([oracle.now])
    paths, weights = starts[None], np.ones(starts.size)
    for place in oracle.ahead(schedule):
        values, counts = np.unique(np.round(oracle.residuals(place), 12), return_counts=True)
        last = np.add.outer(oracle.step(place, paths[-1], 0.0), values).ravel()
        paths = np.vstack([np.repeat(paths, values.size, axis=1), last])
        weights = np.outer(weights, counts).ravel()
    moved = oracle.deviations
    paths, weights = np.add.outer(paths, moved).reshape(len(paths), -1), np.repeat(weights, moved.size)
    if oracle.now is not None:
        paths[0] = oracle.now
    return paths, weights


def test_more_combinations_than_can_be_followed_are_refused(monkeypatch):
    law = halves(8, deviations=(0.0, 1.0))
    monkeypatch.setattr(traced_module, "MOST_PATHS", 127)
    with pytest.raises(NotCoveredError, match="more combinations of runs"):
        traced_survival(law, (FULL, FAR), 1.0)
    monkeypatch.setattr(traced_module, "MOST_PATHS", 128)
    assert exact(law, (FULL, FAR), 1.0)[0] == 1
    whole = msgspec.structs.replace(law, runs=law.runs * 3)
    monkeypatch.setattr(traced_module, "MOST_PATHS", 1)
    assert exact(whole, (FULL, FAR), 1.0) == [1, 1, Fraction(1, 2)]


# --- runs under way ---------------------------------------------------------------------------------------


def test_a_law_gone_on_with_twice_is_gone_on_with_once():
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
    found = refusal(ask)
    assert said in found.message
    assert path in (None, found.path)


def test_a_confidence_says_nothing_of_a_rest():
    law = halves(24, unseen_loss=4.0, confidence=0.9).after((FULL,), 2.5)
    assert "fit without a confidence" in refusal(require_supported, law, (FAR,)).message
    assert traced_loss(law, (FAR,)).outside is not None
    assert depl.solve(rest_of(law, maximum_loss=2.5), "enumerate").cost == 0  # to stop needs no promise
