"""The verifier under a traced law: what lies outside, whole reports, and scenarios drawn again.

Random laws of all readings are asked of solvers and verifier at once in `evaluation/test_traced_loss.py`.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from depl.models.evaluation import in_scenarios as sampling
from depl.models.evaluation.in_scenarios import TracedSample
from depl.models.evaluation.traced_support import outside_support
from depl.models.problem.laws import Forbidden
from depl.models.problem.plan import Bounds, Claims, DualClaim, Plan, ScenarioClaim
from depl.models.problem.traced_law import FittedJump, FittedStep, TracedLaw
from depl.models.scenarios import draws
from depl.models.scenarios.draws import draw_scenarios, scenario_losses
from depl.models.solving.result import Termination
from depl.models.solving.solve import VerificationError, solve
from depl.models.verifier import bounds as verifier_requirements
from depl.models.verifier.bounds import Requirement, listed
from depl.models.verifier.laws import Bracket
from depl.models.verifier.scenarios import (
    counted,
    drawn_sample,
    given_sample,
    traced_fault,
    traced_final_losses,
    traced_thresholds,
)
from depl.models.verifier.traces import traced_loss
from depl.models.verifier.verify import Kind, verify
from depl.showing.explain import explain
from tests.cases.memory_cases import FAR, FULL, instance_of, run_of
from tests.cases.observed_run_cases import observed_cases, rest_of
from tests.cases.traced_law_cases import cases, plan_of
from tests.cases.verifier_scenarios_cases import changed, claim_of, claiming, the
from tests.problems import switches

TWICE, UNSEEN, BACK = (FULL, FULL), (FULL, FULL, FAR, FAR), (FULL, FULL, FAR, FULL)


def run(parts, losses):
    return run_of(parts, [round(loss, 12) for loss in losses])


def step(age, intercept, retention=0.5, pair=FULL):
    first = pair == FULL
    return FittedStep(
        model=pair[0], cluster=pair[1], first=first, age=age, intercept=intercept, retention=retention
    )


def jump(intercept, slope=0.0):
    before = {"previous_model": "full", "previous_cluster": "edge", "start_slope": slope}
    return FittedJump(model="cut", cluster="far", intercept=intercept, retention=0.5, **before)


def paired(count, **fields):
    """Half of the runs are better by 1 in both epochs, half worse, from l(0) = 4."""
    signs = [1 if index % 2 else -1 for index in range(count)]
    runs = tuple(run([(FULL, 2)], (4, 4 + sign, 3 + 1.5 * sign)) for sign in signs)
    return TracedLaw(**{"runs": runs, "steps": (step(1, 2), step(2, 1)), **fields})


def switched(**fields):
    """Six runs switch after 1 epoch, six after 4; only these residuals are not 0.

    In the second epoch of the later ones d = -0.3, -0.2, -0.1, 0.1, 0.2, 0.3; at the switch of earlier ones
    f = 0.5 three times, then -0.5. Without them l = 4, 3, 2, 1.5, 1.5 in the first stage. The switch adds 0.3
    after one epoch, and 0.1 for every doubling of them.
    """
    shares = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16])  # that are left of d after epochs 2 to 6
    after_one = [run([(FULL, 1), (FAR, 2)], (4, 3, 1.8 + f, 0.9 + f / 2)) for f in 3 * [0.5] + 3 * [-0.5]]
    after_four = [
        run([(FULL, 4), (FAR, 2)], (4, 3, *(np.array([2, 1.5, 1.5, 1.25, 0.625]) + d * shares).tolist()))
        for d in (-0.3, -0.2, -0.1, 0.1, 0.2, 0.3)
    ]
    first = tuple(step(age, intercept) for age, intercept in enumerate((1, 0.5, 0.5, 0.75), start=1))
    steps, jumps = (*first, step(2, 0, 0.5, FAR)), (jump(0.3, 0.1 / math.log(2)),)
    return TracedLaw(**{"runs": (*after_one, *after_four), "steps": steps, "jumps": jumps, **fields})


def exponential(law):
    """A law that says of ln l what another says of l."""
    runs = tuple(changed(item, losses=tuple(math.exp(loss) for loss in item.losses)) for item in law.runs)
    return changed(law, runs=runs, scale="log")


def raised(law, intercept):
    """The law with another row of the second epoch."""
    rows = [changed(row, intercept=intercept) if row.first and row.age == 2 else row for row in law.steps]
    return changed(law, steps=tuple(rows))


# ---- outside the support ----


def flat(first, second):
    return run([(FULL, first), (FAR, second)], (4,) * (first + second + 1))


HULL = TracedLaw(
    runs=(flat(3, 2),) * 20 + (flat(1, 6),) * 20,
    steps=(*(step(age, 2) for age in (1, 2, 3)), *(step(age, 2, 0.5, FAR) for age in range(2, 7))),
    jumps=(jump(2),),
)
"""Twenty second stages after 3 epochs last 2, and twenty after 1 last 6: after 2, 4 are in the hull."""


@pytest.mark.parametrize(
    ("law", "plan", "number", "reason"),
    [
        (switched(), (FAR,), 1, "the law has no row for 'cut' on 'far' at age 1"),
        (switched(), BACK, 4, "the law has no row for 'full' on 'edge' after 'cut' at age 1"),
        (switched(), (FULL,) * 5, 5, "the law has no row for 'full' on 'edge' at age 5"),
        (paired(5), TWICE, 2, "5 runs can lend 'full' on 'edge' its residuals, at least 6 must"),
        # runs that switch after one epoch have 3 before it, those after four 1.5; now 10 after two epochs
        (raised(switched(), 2.0), UNSEEN, 3, "a mean loss of 3.5 where 1.425 to 3 were seen"),
        (raised(switched(), 8.5), UNSEEN, 2, "a mean loss of 10 after it, where 0.60625 to 4 were ever seen"),
        (
            raised(exponential(switched()), 2.0),
            UNSEEN,
            3,
            "a mean logarithm of the loss of 3.5 where 1.425 to 3 were seen",
        ),
        (HULL, (*TWICE, *(FAR,) * 4), None, ""),
        (
            HULL,
            (*TWICE, *(FAR,) * 5),
            7,
            "no run trained 'cut' on 'far' beyond age 4 from a switch epoch like 2",
        ),
        (
            changed(HULL, runs=HULL.runs[:20], steps=HULL.steps[:4]),
            (*TWICE, FAR, FAR),
            3,
            "no run began 'cut' on 'far' at a switch epoch like 2",
        ),
        (
            paired(18, care=0.95),
            TWICE,
            2,
            "18 runs went through the whole plan, and the law promises others no plan",
        ),
        (paired(18, care=0.95, deviations=(0.0,)), TWICE, None, ""),
    ],
)
def test_what_lies_outside_is_named_with_its_epoch(law, plan, number, reason):
    found = traced_loss(law, plan)
    assert found.outside == (None if number is None else (number, reason))
    assert (found.increments == ()) == (number is not None)


@pytest.mark.parametrize(
    ("start", "losses", "end", "small", "large"),
    [
        (4, (4, 4), 4, 4 * 5e-10, 4 * 2e-9),
        (4, (4, 4), 4, -4 * 5e-10, -4 * 2e-9),
        (2000, (1, 1000), 1, -5e-7, -2e-6),
        (2000, (1, 1000), 1000, 5e-7, 2e-6),
    ],
)
def test_a_mean_is_outside_only_beyond_a_billionth_of_the_greatest_loss_of_its_row(
    start, losses, end, small, large
):
    """Runs have one of two losses after one epoch; the row says one of them, but for a little."""
    runs = tuple(run([(FULL, 2)], (start, loss, 1)) for loss in losses * 3)
    for away, inside in ((small, True), (large, False)):
        law = TracedLaw(runs=runs, steps=(step(1, end + away, 0), step(2, 1, 0)))
        assert (traced_loss(law, TWICE).outside is None) == inside
        assert (not outside_support(law.law, TWICE)) == inside  # as the solvers say


# ---- whole reports ----


def planned(rows, **claims):
    return changed(plan_of(rows), claims=Claims(**claims))


def bounds(low, high):
    return Bounds(lower=low, upper=high)


@pytest.mark.parametrize(("law", "atom"), [(switched(), 0.75), (exponential(switched()), math.exp(0.75))])
def test_a_plan_and_its_claims_are_judged_by_the_traced_law_and_not_by_improvements(law, atom):
    """0.7 + d / 4 + f / 2 exceeds 0.75 with probability 1/3; targets and claims are losses on both scales."""
    instance = instance_of(law, maximum_loss=atom, quantile_level=0.6)
    report = verify(instance, planned(UNSEEN, violation=bounds(0.3333, 0.3334), quantile=bounds(atom, atom)))
    assert (report.ok, report.violation) == (True, Bracket(Fraction(1, 3), Fraction(1, 3)))
    assert not verify(instance.replace(quantile_level=0.7), planned(UNSEEN)).ok
    assert verify(instance, planned(UNSEEN, quantile=bounds(-1, 3))).ok
    for name, wrong in (
        ("violation", bounds(0.3, 0.333)),
        ("quantile", bounds(atom * (1 + 4e-9), 3)),
        ("quantile", bounds(0, atom * (1 - 4e-9))),
        ("quantile", bounds(-1, 0)),
    ):
        failures = verify(instance, planned(UNSEEN, **{name: wrong})).failures
        assert [finding.equation for finding in failures] == [f"claim: {name}"]
    start = math.exp(4) if law.scale == "log" else 4
    for limit, missed in ((start, 0), (0.98 * start, 1)):  # without an epoch
        idle = verify(instance.replace(maximum_loss=limit), Plan())
        assert (idle.ok, idle.violation) == (not missed, Bracket(missed, missed))
        assert idle.expected_loss == pytest.approx(start)


def test_the_expected_loss_under_a_law_of_the_logarithm_is_that_of_exponentials():
    """ln l = 0.75 is met within a billionth of it; no exponential meets 0."""
    instance = instance_of(exponential(switched()))
    waves = sum(math.exp(d / 4) for d in (-0.3, -0.2, -0.1, 0.1, 0.2, 0.3)) / 6
    falls = (2 + math.exp(0.25) + math.exp(-0.25)) / 4
    for bound, share in (
        (math.exp(0.75) * (1 - 5e-10), Fraction(1, 3)),
        (math.exp(0.75) * (1 - 2e-9), Fraction(5, 12)),
        (0.0, 1),
        (-1.0, 1),
    ):
        report = verify(instance.replace(maximum_loss=bound, quantile_level=0.5), planned(UNSEEN))
        assert report.expected_loss == pytest.approx(math.exp(0.7) * waves * falls, rel=1e-12)
        assert report.violation == Bracket(share, share)
    ones = (run([(FULL, 2)], (1, 1, 1)),) * 6
    for deviations, expected in (((), 1), ((1400.0,), math.inf)):  # too large for a number
        law = paired(6, runs=ones, steps=(step(1, 0), step(2, 0)), scale="log", deviations=deviations)
        assert verify(instance_of(law), planned((FULL,))).expected_loss == pytest.approx(expected)


def test_outside_the_support_and_after_a_forbidden_switch_a_plan_fails_whatever_it_claims():
    """Bounds, or scenarios; and a dual bound says nothing under a traced law."""
    instance = instance_of(switched(), maximum_loss=6)
    forbidden = instance.replace(switches=switches({("full", "cut"): Forbidden()}))
    scenarios = claim_of(instance, draw_scenarios(instance, 200, 7), plan_of(UNSEEN))
    none = bounds(0, 0)
    for claims in ({"violation": none, "quantile": none}, {"scenarios": scenarios}):
        for place, plan, equation, words in (
            (instance, BACK, "traced law, support", "epoch 4: the law has no row"),
            (forbidden, UNSEEN, "Sec. III, switches", "epoch 3: 'full' may not be followed by 'cut'"),
        ):
            report = verify(place, planned(plan, **claims))
            assert [finding.equation for finding in report.failures] == ["(3)", equation]
            assert the(report, equation).message.startswith(words)
            assert math.isnan(report.expected_loss) == (place is instance)
            assert report.violation == Bracket(0, 1)
    dual = DualClaim(bound=0.0, time_price=0.0, gain_price=0.0)
    report = verify(instance, planned(UNSEEN, scenarios=scenarios, dual=dual))
    assert the(report, "claim: dual bound").kind is Kind.UNDECIDED


def test_the_first_switch_of_a_run_under_way_is_from_the_model_that_it_trained():
    (_, (law, *_), *_), words = observed_cases(1), "epoch 1: {!r} may not be followed by {!r}"
    instance = rest_of(law)
    before, place = instance.target.initial_model, {"full": FAR, "cut": FULL}[instance.target.initial_model]
    forbidden = instance.replace(switches=switches({(before, place[0]): Forbidden()}))
    report = verify(forbidden, planned((place,)))
    assert the(report, "Sec. III, switches").message == words.format(before, place[0])


def test_a_lower_bound_is_proved_by_listing_the_plans_inside_the_support():
    """Improvements would do with one epoch; by the traces full and then cut are the cheapest of two.

    After one epoch l = 3; after full, full l = 2 + d, after full, cut l = 1.8 + f. Works of 8 and 1.5 at
    prices of 3 and 2 in time 20 - 1 / 2 - 1 cost at least (sqrt(24) + sqrt(3))^2 / 18.5, with resources as
    the roots of work by price, and 0.75 for the transfer.
    """
    target = {"maximum_loss": 2, "quantile_level": 0.5, "maximum_epochs": 2}
    instance, plan = instance_of(switched(), **target), plan_of((FULL, FAR))
    roots, prices = np.sqrt([24, 3]), np.array([3, 2])
    resources = (roots / prices * roots.sum() / 18.5).tolist()
    epochs = tuple(changed(epoch, resources=x) for epoch, x in zip(plan.epochs, resources, strict=True))
    cost = float(roots.sum() ** 2) / 18.5 + 0.75
    for claimed in (cost, cost / 2):
        claims = Claims(cost=cost, lower_bound=claimed)
        report = verify(instance, changed(plan, epochs=epochs, claims=claims))
        assert not report.failures
        assert the(report, "claim: lower_bound").message.endswith("all 32 plans were listed")
        assert report.proved_bound == claimed
    failure = the(verify(instance, planned(TWICE, lower_bound=cost + 0.5)), "claim: lower_bound")
    assert (failure.kind, failure.amount) == (Kind.FAILED, pytest.approx(0.5, rel=1e-6))


# ---- laws that promise what no run ever had ----


@pytest.mark.parametrize("residuals", ["per_run", "independent"])
def test_a_quantile_below_every_loss_ever_seen_is_objected_to_and_neither_believed_nor_planned(residuals):
    """The least loss of any run is 0.60625, and plans are promised to end near -1e9."""
    believed, refused = (
        instance_of(switched(residuals=residuals, deviations=away), maximum_loss=0.76, quantile_level=0.6)
        for away in ((), (-1e9,))
    )
    assert [item.equation for item in verify(refused, planned(UNSEEN)).failures] == ["traced law, support"]
    assert "NOT to be believed" in explain(refused, planned(UNSEEN))
    assert verify(believed, planned(UNSEEN)).ok
    assert "NOT to be believed" not in explain(believed, planned(UNSEEN))
    # no plan of the law refutes a lower bound, as the verifier would accept none
    assert Requirement(believed).verdict(planned(UNSEEN)) == (True, True)
    assert Requirement(refused).verdict(planned(UNSEEN)) == (False, False)
    assert listed(believed, None, 1e3, 100_000)[1] is not None
    assert listed(refused, None, 1e3, 100_000)[1] is None
    for method in ("enumerate", "scenario-search"):
        result = solve(refused.replace(maximum_loss=0.01), method)
        assert (result.plan, result.termination) == (None, Termination.INFEASIBLE)
        assert "lies below 0.60625, the least loss that any run ever had" in result.reason


def test_the_least_loss_itself_is_not_below_all_that_were_seen():
    """All runs end at 1, which no loss is below."""
    law = paired(20, runs=(run([(FULL, 2)], (4, 1, 1)),) * 20, steps=(step(1, 1, 0), step(2, 1, 0)))
    for least, bound in ((law, 1.0), (exponential(law), math.e)):
        instance = instance_of(least, maximum_loss=bound, quantile_level=0.9)
        assert verify(instance, planned(TWICE)).ok
        assert solve(instance, "enumerate").plan is not None


# ---- scenarios: numbers put in by hand ----


def numbers(size, given):
    """All numbers 0.35 but those given of the first model, by epoch."""
    models = np.full((size, 4, 2), 0.35)
    for epoch, values in given.items():
        models[:, epoch - 1, 0] = values
    return given_sample((models, np.full((size, 4, 2, 2), 0.35)), None)


def test_a_number_at_a_step_may_be_counted_either_way():
    """Half of the residuals are -1 and half 1: at exactly one half both may be found."""
    instance, plan = instance_of(paired(6, residuals="independent"), maximum_loss=3.0), plan_of((FULL,))
    sample = numbers(3, {1: [0.5 - 1e-12, 0.5, 0.5 + 1e-12]})
    found = traced_final_losses(instance.traced_law, instance, sample, plan)
    assert np.round(found, 6).tolist() == [[3, 3, 5], [3, 5, 5]]
    assert counted(instance, sample, plan)[:2] == (1, 2)


def test_losses_within_a_billionth_of_the_target_meet_it_and_between_two_readings_of_that_either():
    """ln l(2) = 4.5, of the loss within 1e-9 or of its logarithm: l = 90, so within 9e-8."""
    law, sample = exponential(paired(6, residuals="independent")), numbers(1, {1: [0.9], 2: [0.9]})
    for away, certain, possible in ((0.0, 0, 0), (5e-8, 0, 1), (2e-7, 1, 1)):
        instance = instance_of(law, maximum_loss=math.exp(4.5) - away)
        assert counted(instance, sample, plan_of(TWICE))[:2] == (certain, possible)
    assert traced_thresholds(switched(), 3.0) == [3.0 + 1e-9]
    assert max(traced_thresholds(law, -1.0)) == 0


# ---- scenarios: those that solvers draw ----


def redrawn(instance, size, seed):
    claim = ScenarioClaim(size=size, seed=seed, digest="0" * 64, misses=0, allowed=0)
    found = drawn_sample(instance, claim)
    assert found is not None
    return found


def test_random_laws_of_all_kinds_give_the_losses_of_their_scenarios():
    """Those of runs under way, too; of runs unlike all seen both ends are infinite."""
    compared = 0
    for seed, (law, _, schedules) in enumerate([*cases(6), *observed_cases(3)]):
        instance = instance_of(law) if law.observed is None else rest_of(law, maximum_epochs=4)
        sample, drawn = redrawn(instance, 60, seed), draw_scenarios(instance, 60, seed)
        np.testing.assert_array_equal(sample.improvements[0], drawn.improvements)
        np.testing.assert_array_equal(sample.switch_losses[0], drawn.switch_losses)
        for schedule in schedules[::2]:
            compared += 1
            low, high = traced_final_losses(law, instance, sample, plan_of(schedule))
            expected = scenario_losses(instance, drawn, plan_of(schedule))
            assert ((low <= expected) & (expected <= high)).all()
            seen = np.isfinite(high)
            assert np.isposinf(low[~seen]).all()
            ranges = np.ptp([low[seen], high[seen]], axis=0)
            assert ranges.max() < 1e-10
            assert law.scale == "log" or ranges.min() > 1.9e-12  # relative to 1 and what is added
    assert compared > 30


LOGGED = changed(exponential(switched()), residuals="independent", deviations=(-0.01, 0.03))


@pytest.mark.parametrize(("law", "bound"), [(switched(), 0.8), (LOGGED, math.exp(0.8))])
def test_a_plan_is_judged_by_the_misses_of_its_scenarios(law, bound):
    """l(4), or its logarithm, is above 0.8 in about a quarter of them; before training, in all or none."""
    instance = instance_of(law, maximum_loss=bound, quantile_level=0.6)
    scenarios = draw_scenarios(instance, 200, 7)
    plan = claiming(instance, scenarios, plan_of(UNSEEN))
    report, misses = verify(instance, plan), plan.claims.scenarios.misses
    assert report.ok
    for equation in ("claim: scenarios", "claim: scenarios.digest"):
        assert the(report, equation).kind is Kind.CHECKED
    assert 30 < misses < 70
    strict = instance.replace(quantile_level=0.95)
    short = verify(strict, changed(claiming(strict, scenarios, plan_of(UNSEEN)), instance=None))
    assert [(finding.equation, finding.amount) for finding in short.failures] == [("(3)", misses - 10)]
    greatest = max(item.losses[0] for item in law.runs)
    for limit, missed in ((0.999 * greatest, 200), (greatest, 0)):
        idle = instance.replace(maximum_loss=limit)
        plan = claiming(idle, scenarios, Plan())
        assert (plan.claims.scenarios.misses, verify(idle, plan).ok) == (missed, missed == 0)


def test_claims_that_no_stream_of_a_traced_law_can_have_are_not_accepted():
    law = switched(deviations=(0.1,))
    instance = instance_of(law, maximum_loss=6)
    claim = claim_of(instance, draw_scenarios(instance, 200, 7), plan_of(UNSEEN))
    short = instance.replace(maximum_epochs=1)
    assert traced_fault(law, instance, claim) == traced_fault(switched(), short, claim) == ""
    for wrong, place, said in (
        (changed(claim, seed=None), instance, "drawn from a seed"),
        (changed(claim, decimals=3), instance, "not rounded"),
        (claim, short, "after K_max"),
    ):
        assert said in traced_fault(law, place, wrong)
        report = verify(place, planned((FULL,), scenarios=wrong))
        assert {the(report, name).kind for name in ("claim: scenarios", "(3)")} == {Kind.UNDECIDED}
        assert not report.ok


def test_no_more_plans_are_counted_than_probabilities_computed(monkeypatch):
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 1)
    instance = instance_of(switched(), maximum_loss=6)
    requirement = Requirement(instance, redrawn(instance, 20, 0))
    assert requirement.verdict(planned((FAR,))) == (False, False)  # outside the support
    assert requirement.verdict(planned(UNSEEN)) == (True, True)
    assert requirement.verdict(planned(TWICE)) is None


def reversed_quantiles(values, numbers, weights=None):
    ranks = np.ceil(numbers * values.size).astype(int) - 1
    return np.sort(values)[::-1][np.clip(ranks, 0, values.size - 1)]


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (sampling, "_quantiles", reversed_quantiles),
        (TracedSample, "deviating", lambda _, losses, *__: losses),
        (draws, "ATOM_TOLERANCE", 0.05),
    ],
)
def test_a_solver_with_wrong_scenarios_is_found_out(monkeypatch, place, name, wrong):
    law = switched(deviations=(-0.01, 0.03))
    instance = instance_of(law, maximum_loss=0.8, quantile_level=0.6, maximum_time=40.0)
    assert solve(instance, "scenario-search", scenarios=100).plan is not None
    monkeypatch.setattr(place, name, wrong)
    with pytest.raises(VerificationError):
        solve(instance, "scenario-search", scenarios=100)
