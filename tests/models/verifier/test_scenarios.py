"""Plans that claim scenarios: counts by hand, draws repeated, claims altered, bounds proved or repeated."""

import math
from fractions import Fraction

import numpy as np
import pytest

import depl
from depl.instances.generator import random_plan
from depl.models.problem.laws import Deterministic, InverseGamma, Lognormal, Normal
from depl.models.problem.plan import Claims, Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios, given_scenarios, scenario_losses
from depl.models.solving.solve import solve
from depl.models.verifier import bounds as verifier_requirements
from depl.models.verifier import dual as verifier_dual
from depl.models.verifier import scenarios as verifier_sample
from depl.models.verifier.bounds import MOST_PLANS, Requirement, excluded, listed, plan_count
from depl.models.verifier.dual import dual_finding
from depl.models.verifier.laws import Bracket, Increment
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.scenarios import (
    Count,
    claimed_sample,
    counted,
    drawn_sample,
    final_losses,
    given_sample,
)
from depl.models.verifier.verify import Kind, verify
from tests.cases.verifier_scenarios_cases import (
    altered,
    arrays,
    changed,
    claim_of,
    claiming,
    failing,
    own,
    problems,
    sample_of,
    the,
)
from tests.oracles.search import cheapest
from tests.problems import atoms, drawn, model, student
from tests.problems import plan as plan_of

# ---- the count ----


GAINS = [[2, 2, 0], [1, 2, 0], [3, 3, 0], [2, 1.999, 0], [5, -1, 0]]
EIGHTHS = [[0.125] * 3] * 2


@pytest.mark.parametrize(
    ("gains", "target", "claimed", "counted", "kind", "ok", "excess"),
    [
        (GAINS, {"quantile_level": 0.5}, {}, "2 of 5", Kind.CHECKED, True, 0),
        (GAINS, {"quantile_level": 0.7}, {}, "2 of 5", Kind.FAILED, False, 1),
        ([[2, 2 - 0.5e-9, 0]], {}, {}, "0 of 1", Kind.CHECKED, True, 0),
        ([[2, 2 - 2e-9, 0]], {}, {}, "1 of 1", Kind.FAILED, False, 1),
        # to two decimals 0.125 may be 0.12 or 0.13, and two of them must give 0.25
        (EIGHTHS, {"maximum_loss": 9.75}, {"misses": 0}, "0 to 2 of 2", Kind.UNDECIDED, True, 2),
        (EIGHTHS, {"maximum_loss": 9.75}, {"misses": 1}, "0 to 2 of 2", Kind.UNDECIDED, False, 2),
    ],
)
def test_misses_are_counted_as_by_hand(bell, steady_plan, gains, target, claimed, counted, kind, ok, excess):
    """Two epochs must gain 4, but for a billionth; 1 - omega is 0.1 where nothing else is said."""
    instance = bell.replace(**target)
    scenarios = own(instance, gains, 2 if gains is EIGHTHS else None)
    report = verify(instance, claiming(instance, scenarios, steady_plan, **claimed), arrays(scenarios))
    finding = the(report, "(3)")
    assert finding.message.startswith(f"{counted} scenarios end above l_max")
    assert (finding.kind, finding.ok, finding.amount) == (kind, ok, excess)
    assert the(report, "claim: scenarios.misses").ok
    assert failing(report) == (set() if ok else {"(3)"})


def test_the_switch_from_the_initial_model_is_counted(tiny):
    """One epoch of full gains 9, of 8.5 needed, but coming from pruned costs 1 in every other scenario."""
    instance = tiny.replace(initial_model="pruned", other_switches=Normal(mean=0, variance=1))
    switches = np.zeros((6, 3, 2, 2))
    switches[::2, 0, 1, 0] = 1
    scenarios = given_scenarios(instance, np.full((6, 3, 2), 9.0), switches)
    plan = plan_of(("full", "cloud", 4.0), data=("archive", "sensors"))
    report = verify(instance, claiming(instance, scenarios, plan), arrays(scenarios))
    assert the(report, "(3)").message.startswith("3 of 6 scenarios end above l_max")


def test_a_loss_that_may_be_on_the_target_to_the_last_digit_is_no_certain_miss(bell):
    least = 1 - 1e-14  # what 1 is, give or take its rounding
    instance = bell.replace(initial_loss=1.0, maximum_loss=least - 1e-9)
    assert instance.target.maximum_loss + 1e-9 == least
    assert counted(instance, given_sample(arrays(own(instance, GAINS)), None), Plan())[:2] == (0, 5)


@pytest.mark.parametrize(("level", "word", "excess"), [(0.9, "exceeds", 0.4), (0.4, "meets", -0.1)])
def test_the_law_is_a_note_that_never_fails_a_plan(bell, steady_plan, level, word, excess):
    """l(K) is normal with mean l_max, so that it misses with probability 1/2 under the law."""
    instance, scenarios = bell.replace(quantile_level=level), own(bell, [[3, 3, 0]] * 4)
    report = verify(instance, claiming(instance, scenarios, steady_plan), arrays(scenarios))
    note = the(report, "(3) under the law")
    assert (report.ok, note.kind, f"] {word} 1 - omega" in note.message) == (True, Kind.NOTE, True)
    assert note.amount == pytest.approx(excess, rel=1e-6)


@pytest.mark.parametrize("start", [10.0, 1e6])
def test_the_range_of_a_final_loss_holds_its_exact_sum_in_any_order(bell, steady_plan, start):
    """Also where gains are far greater than the loss they are taken from, and all but cancel."""
    instance, gain = bell.replace(initial_loss=start), 1e5 / 3
    gains = [[gain, -gain, 0.0], [gain, gain, 0.0], [0.1, 0.2, 0.0]]
    found = final_losses(instance, given_sample(arrays(own(instance, gains)), None), steady_plan)
    for (first, second, _), low, high in zip(gains, *found, strict=True):
        exact = Fraction(start) - Fraction(first) - Fraction(second)
        sums = {start - (first + second), start - first - second, start - second - first, exact}
        assert low <= min(sums) <= max(sums) <= high
        assert high - low <= 1e-13 * (start + abs(first) + abs(second))


def test_without_a_defined_loss_or_enough_scenarios_a_plan_fails_without_a_count(
    bell, steady_plan, tiny, tiny_optimum
):
    scenarios = own(bell, GAINS)
    long = changed(claiming(bell, scenarios, steady_plan), epochs=steady_plan.epochs * 2)
    assert {"(3)", "Sec. III, K_max"} <= failing(verify(bell, long, arrays(scenarios)))
    plan = claiming(tiny, draw_scenarios(tiny, 20), tiny_optimum)
    turned = changed(plan, epochs=plan.epochs[::-1])
    assert the(verify(tiny, turned), "(3)").message == "the loss is not defined after a forbidden switch"


def test_random_plans_are_counted_as_the_solvers_count_them():
    """Half of the counts are drawn again, half on arrays that are given; with and without rounding."""
    rng, met = np.random.default_rng(5), 0
    for index, instance in enumerate(drawn(5, 6, maximum_epochs=(3, 8))):
        plan = random_plan(rng, instance)
        scenarios = draw_scenarios(instance, 40, seed=index, decimals=[None, 2, 8, 0][index % 4])
        claimed = claiming(instance, scenarios, plan)
        claim, losses = claimed.claims.scenarios, scenario_losses(instance, scenarios, plan)
        low, high = final_losses(instance, drawn_sample(instance, claim), plan)
        assert np.all((low <= losses) & (losses <= high))
        for draws in (None, arrays(scenarios)):
            report = verify(instance, claimed, draws)
            assert the(report, "claim: scenarios.misses").ok
            assert the(report, "claim: scenarios.allowed").ok
            assert the(report, "(3)").ok is (claim.misses <= claim.allowed)
        met += the(report, "(3)").ok
    assert 0 < met < 6


# ---- drawing again ----


@pytest.mark.parametrize(
    ("noise", "switch"),
    [
        (InverseGamma(mean=1.0, variance=0.3), student(2.5, 0.2, 0.1)),
        (Lognormal(mean=1.0, variance=0.3), student(3, 0.2, 0.1, -0.1, 0.6)),
        (Normal(mean=1.0, variance=0.3), student(3, 0.0, 0.01, 1.0, 2.0)),
        (atoms(0.3, 0.1, 0.7, weights=(1.5, 2.0, 0.3)), atoms(0.1, -0.1)),
    ],
)
def test_the_stream_is_drawn_again_for_every_law(bell, noise, switch):
    instance = bell.replace(models=tuple(model(name, noise) for name in "ab"), other_switches=switch)
    scenarios = draw_scenarios(instance, 300, seed=3)
    claim = claim_of(instance, scenarios, Plan())
    again = drawn_sample(instance, claim)
    for found, expected in zip((again.improvements, again.switch_losses), arrays(scenarios), strict=True):
        assert np.all((found[0] <= expected) & (expected <= found[1]))
        assert np.max(found[1] - found[0]) <= 1e-9 * np.max(np.abs(expected))
    sample, findings = claimed_sample(instance, claim, arrays(scenarios))
    assert sample is not None
    assert all(finding.ok for finding in findings)


def put(place, value):
    """The scenario of `own(bell, [[3, 3, 0]])` with another number, of an improvement or a switch."""
    draws = [np.array([3.0, 3.0, 0.0]).reshape(1, 3, 1), np.zeros((1, 3, 1, 1))]
    draws[len(place) - 3][place] = value
    return draws


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ((np.zeros((2, 3, 1)), np.zeros((2, 3, 1, 1))), "improvements of shape (2, 3, 1)"),
        ((np.zeros((1, 3, 1)), np.zeros((1, 3, 1))), "switches of shape (1, 3, 1)"),
        (put((0, 1, 0), 2.0), "have the digest"),
        # of a scenario that is not a number no count could say that it misses
        (put((0, 1, 0), math.nan), "improvements were given with numbers that are not finite"),
        (put((0, 1, 0, 0), math.inf), "switches were given with numbers that are not finite"),
    ],
)
def test_other_scenarios_than_those_claimed_are_refused(bell, steady_plan, draws, words):
    """With numbers that are not finite although the digest is theirs."""
    plan = claiming(bell, own(bell, [[3, 3, 0]]), steady_plan)
    if "finite" in words:
        digest = plan.claims.scenarios.digest[:16] + verifier_sample.numbers_digest(draws)
        plan = altered(plan, "scenarios", digest=digest)
    report = verify(bell, plan, tuple(draws))
    assert "(3)" in failing(report)
    assert any(words in finding.message and finding.kind is Kind.FAILED for finding in report.failures)


def test_draws_that_are_not_those_of_the_seed_are_refused(tiny, tiny_optimum):
    scenarios = draw_scenarios(tiny, 20, seed=3)
    wrong = scenarios.improvements.copy()
    wrong[7, 1, 0] += 4
    other = Scenarios(wrong, scenarios.switch_losses, seed=3)
    report = verify(tiny, claiming(tiny, other, tiny_optimum), arrays(other))
    assert failing(report) == {"claim: scenarios.seed"}
    assert "improvements[7, 1, 0]" in the(report, "claim: scenarios.seed").message


def test_scenarios_that_cannot_be_drawn_again_are_asked_for(bell, steady_plan, monkeypatch):
    """Those of the user's own, and samples that are too large."""
    report = verify(bell, claiming(bell, own(bell, [[3, 3, 0]]), steady_plan))
    assert failing(report) == {"(3)", "claim: scenarios"}
    instance, scenarios = bell.replace(quantile_level=0.1), draw_scenarios(bell, 5)
    plan = claiming(instance, scenarios, steady_plan)
    for largest, failures, seed in (
        (30, set(), Kind.CHECKED),
        (29, {"(3)", "claim: scenarios"}, Kind.REPEATED),
    ):
        monkeypatch.setattr(verifier_sample, "LARGEST_STREAM", largest)  # of 5 * 3 * 2 numbers
        assert failing(verify(instance, plan)) == failures
        report = verify(instance, plan, arrays(scenarios))
        assert (report.ok, the(report, "claim: scenarios.seed").kind) == (True, seed)
    report = verify(bell, changed(steady_plan, claims=None), arrays(draw_scenarios(bell, 3)))
    assert "not used" in the(report, "claim: scenarios").message


# ---- every number of a claim, altered ----


@pytest.fixture(scope="module")
def solved():
    """A plan with all claims, dual bound and lower bound among them; both bounds say something."""
    counts = {"maximum_epochs": (3, 4), "clusters": (1, 2), "datasets": (1, 2), "models": 2}
    instance = drawn(21, 3, **counts)[2]
    result = solve(instance, "scenario-search", scenarios=60, seed=2)
    claims = result.plan.claims
    assert min(claims.dual.bound, claims.dual.time_price, claims.dual.gain_price, claims.scenarios.misses) > 0
    return instance, result.plan, result


def test_what_a_solver_claims_is_proved_again(solved):
    instance, plan, result = solved
    report = verify(instance, plan)
    assert report.ok
    for name in ("cost", "training_time", "dual bound", "lower_bound", "cheapest_resources"):
        assert the(report, f"claim: {name}").kind is Kind.CHECKED, name
    assert report.proved_bound == pytest.approx(result.cost, rel=1e-9)


@pytest.mark.parametrize(
    ("part", "name", "change", "objection"),
    [
        ("dual", "time_price", 1 + 1e-6, "dual bound"),
        ("dual", "gain_price", 1 + 1e-6, "dual bound"),
        ("dual", "gain_price", 1 - 1e-6, "dual bound"),
        ("dual", "bound", 1 + 2e-9, "dual bound"),
        ("dual", "bound", 1 - 2e-9, "dual bound"),
        ("scenarios", "misses", -1, "scenarios.misses"),
        ("scenarios", "misses", 1, "scenarios.misses"),
        ("scenarios", "allowed", 1, "scenarios.allowed"),
        ("scenarios", "size", 1, "scenarios.digest"),
        ("scenarios", "seed", 1, "scenarios.digest"),
        ("scenarios", "decimals", 1, "scenarios.digest"),
        ("scenarios", "digest", "0" * 64, "scenarios.digest"),
    ],
)
def test_every_number_that_is_altered_is_refused(solved, part, name, change, objection):
    """Numbers times a factor, and whole ones by a difference."""
    instance, plan, _ = solved
    old = getattr(getattr(plan.claims, part), name)
    if isinstance(change, int):
        change += old or 0
    elif isinstance(change, float):
        change *= old
    report = verify(instance, altered(plan, part, **{name: change}), most_plans=0)
    assert the(report, f"claim: {objection}").kind is Kind.FAILED


def test_last_digits_of_a_digest_count_where_the_scenarios_are_given(solved):
    """Drawn again, those of numbers may differ."""
    instance, plan, _ = solved
    draws, digest = arrays(draw_scenarios(instance, 60, seed=2)), plan.claims.scenarios.digest
    assert verify(instance, plan, draws).ok
    other = altered(plan, "scenarios", digest=digest[:-1] + ("1" if digest[-1] == "0" else "0"))
    assert "claim: scenarios.digest" in failing(verify(instance, other, draws))
    assert the(verify(instance, other), "claim: scenarios.digest").kind is Kind.REPEATED


def test_a_dual_bound_may_be_off_by_a_billionth_and_may_not_exceed_the_cost_of_the_plan(solved, monkeypatch):
    """With very many assignments of data it is repeated; without scenarios or a limit of time it is wrong."""
    instance, plan, _ = solved
    sample, claim = drawn_sample(instance, plan.claims.scenarios), plan.claims.dual

    def found(cost, within=instance, **changes):
        given = changed(claim, **changes)
        finding, bound = dual_finding(within, sample, plan.claims.scenarios.allowed, given, cost)
        assert finding.ok is (finding.kind is not Kind.FAILED)
        return finding.kind, bound

    kind, proved = found(1e9)
    assert (kind, proved) == (Kind.CHECKED, pytest.approx(claim.bound, rel=1e-10))
    for factor in (1 + 5e-10, 1 - 5e-10):
        assert found(1e9, bound=factor * proved) == (Kind.CHECKED, proved)
    assert found(1e9, bound=2 * proved) == (Kind.FAILED, proved)
    assert found(0.9 * claim.bound) == (Kind.FAILED, proved)
    assert found(1e9, instance.replace(maximum_time=None, round_deadline=1e6)) == (Kind.FAILED, 0)
    assert "claim: dual bound" in failing(verify(instance, altered(plan, scenarios=None)))
    monkeypatch.setattr(verifier_dual, "MOST_ASSIGNMENTS", 0)
    assert (found(1e9), found(0.9 * claim.bound)) == ((Kind.REPEATED, 0), (Kind.FAILED, 0))


# ---- lower bounds: proved again, repeated, refuted ----


def bound_finding(instance, plan, bound, **options):
    return the(verify(instance, altered(plan, lower_bound=bound), **options), "claim: lower_bound")


def test_a_lower_bound_is_proved_by_the_dual_or_by_listing_and_else_repeated(solved):
    instance, plan, result = solved
    dual = plan.claims.dual.bound
    for bound, most, kind, words in (
        (dual, 0, Kind.CHECKED, "dual bound"),
        ((dual + result.cost) / 2, 0, Kind.REPEATED, "nothing here proves it"),
        ((dual + result.cost) / 2, MOST_PLANS, Kind.CHECKED, "plans were listed"),
        (-1.0, 0, Kind.CHECKED, "never negative"),
    ):
        found = bound_finding(instance, plan, bound, most_plans=most)
        assert (found.kind, found.ok, words in found.message) == (kind, True, True)


def test_a_lower_bound_above_the_listed_optimum_is_refused_under_the_law(tiny, tiny_optimum):
    epochs = tuple(changed(epoch, resources=3.5) for epoch in tiny_optimum.epochs)
    expensive = changed(tiny_optimum, epochs=epochs, claims=Claims())
    assert verify(tiny, altered(expensive, lower_bound=28.0)).proved_bound == 28.0
    refused = bound_finding(tiny, expensive, 28.1)
    assert (refused.kind, refused.amount) == (Kind.FAILED, pytest.approx(0.1, rel=1e-6))


def test_a_lower_bound_is_left_open_where_judging_the_plans_listed_takes_too_long(
    steady, steady_plan, monkeypatch
):
    """Only changes of the model are charged: any switch would cost 100, but one model stays."""
    instance = steady.replace(other_switches=Deterministic(value=100))
    found = [listed(instance, None, bound, MOST_PLANS)[1] for bound in (24.0, 24.1)]
    assert found == [None, pytest.approx(24, rel=1e-9)]
    epochs = tuple(changed(epoch, resources=5.0) for epoch in steady_plan.epochs)
    expensive = changed(steady_plan, epochs=epochs, claims=Claims())
    assert bound_finding(steady, expensive, 25.0).kind is Kind.FAILED
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 0)
    finding = bound_finding(steady, expensive, 25.0)
    assert (finding.kind, finding.ok) == (Kind.REPEATED, True)


def test_listing_finds_the_cheapest_plan_of_random_instances():
    """On scenarios the optimum of the solvers' tables, under the law that of the enumeration.

    No plan is cheaper than it; one is cheaper than a little more.
    """
    decided = 0
    for problem in problems(seed=31, count=2):
        enumerated = solve(problem.instance, "enumerate").cost
        for sample, optimum in ((sample_of(problem), cheapest(problem)), (None, enumerated)):
            if optimum in (None, math.inf):
                continue
            bounds = optimum, optimum * (1 + 1e-8) + 1e-8
            found = [listed(problem.instance, sample, bound, MOST_PLANS) for bound in bounds]
            if None not in found:
                decided += 1
                assert [cost for _, cost in found] == [None, pytest.approx(optimum, rel=1e-10, abs=1e-12)]
    assert decided >= 2


def test_the_number_of_plans_is_a_sum_of_powers_and_not_training_is_one_of_them(tiny, bell):
    """Two clusters with 3 sets of data each: 6 assignments to one cluster, 9 to both; 2 models, 3 epochs."""
    assert plan_count(tiny, MOST_PLANS) == 6 * (2 + 4 + 8) + 9 * (4 + 16 + 64)
    assert plan_count(tiny, 839) is None
    sample = given_sample((np.zeros((2, 3, 1)), np.zeros((2, 3, 1, 1))), None)
    for given in (sample, None):
        assert listed(bell.replace(maximum_loss=10), given, 1.0, MOST_PLANS)[1] == 0


# ---- in a solve ----


def test_what_is_open_may_meet_and_is_not_certain_to(tiny, monkeypatch, tiny_optimum):
    """A count, and a probability."""
    counting = Requirement(tiny, given_sample(arrays(draw_scenarios(tiny, 4, seed=2)), None))
    monkeypatch.setattr(verifier_requirements, "counted", lambda *_: Count(certain=1, possible=2, allowed=1))
    assert counting.verdict(tiny_optimum) == (True, False)
    budget = 1 - Fraction(str(tiny.target.quantile_level))
    monkeypatch.setattr(LossFacts, "exceeding", lambda *_: Bracket(budget / 2, budget * 2))
    assert Requirement(tiny).verdict(tiny_optimum) == (True, False)


def test_as_many_probabilities_as_said_are_computed_and_then_remembered(steady, steady_plan, monkeypatch):
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 1)
    longer = depl.Plan(data=steady_plan.data, epochs=(*steady_plan.epochs, steady_plan.epochs[0]))
    requirement = Requirement(steady)
    found = [requirement.verdict(plan) for plan in (steady_plan, longer, steady_plan)]
    assert found == [(True, True), None, (True, True)]


TWO = -1, atoms(4.0, 0.0, weights=(3.0, 1.0))
"""l(1) is 6 with probability 3/4 and 10 else: mean 7, variance 3, and V / (V + (7 - 6)^2) = 3/4."""


def far(off):
    """With omega = 3/4, a mean E above l_max and a variance 3 E^2 attain the inequality of Cantelli.

    E is so great that only what is relative to the sums counts.
    """
    return 1, Normal(mean=1e6 * (1 + off), variance=3e12 * (1 - off))


@pytest.mark.parametrize(
    ("certain", "random", "limit", "level", "left_out"),
    [
        (10, [TWO], 6.0, 0.75, False),
        (10, [TWO], 6.0, 0.76, True),
        # sums off by their rounding exclude nothing, and by much more they do
        (0, [far(0.0)], 0.0, 0.75, False),
        (0, [far(0.9e-13)], 0.0, 0.75, False),
        (0, [far(1e-12)], 0.0, 0.75, True),
        # four copies of half of it: mean 2, variance 4 / 4 * v
        (0, [(Fraction(1, 2), Normal(mean=1.0, variance=11.9), 4)], 0.0, 0.75, True),
        (0, [(Fraction(1, 2), Normal(mean=1.0, variance=12.1), 4)], 0.0, 0.75, False),
        # what is certain, and an infinite variance
        (5, [], 4.0, 0.9, True),
        (5, [], 5.0, 0.9, False),
        (5, [(1, student(2.0, 0.0, 1e-3))], 4.0, 0.999, False),
    ],
)
def test_plans_are_excluded_by_the_inequality_of_cantelli_alone(certain, random, limit, level, left_out):
    loss = LossFacts(Fraction(certain), tuple(Increment(Fraction(item[0]), *item[1:]) for item in random))
    assert excluded(loss, limit, level) is left_out
