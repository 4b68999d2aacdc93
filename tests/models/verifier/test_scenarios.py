"""Plans that claim scenarios: counts by hand, draws repeated, claims altered, bounds proved or repeated."""

import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances, random_plan
from depl.models.problem.laws import Deterministic, InverseGamma, Lognormal, Normal
from depl.models.problem.plan import Claims, Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios, given_scenarios, scenario_losses
from depl.models.solving.solve import solve
from depl.models.verifier import plans as verifier_requirements
from depl.models.verifier import scenarios as verifier_sample
from depl.models.verifier.laws import Bracket, Increment
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.plans import MOST_PLANS, Requirement, excluded, listed, plan_count
from depl.models.verifier.scenarios import Count, claimed_sample, drawn_sample, final_losses, given_sample
from depl.models.verifier.verify import Finding, Kind, Report, verify
from tests.cases.verifier_scenarios_cases import claim_of, claiming, own
from tests.models.verifier.test_dual import cheapest, problems, sample_of
from tests.models.verifier.test_verify import the
from tests.problems import atoms, model, student
from tests.problems import plan as plan_of


def failing(report: Report) -> set[str]:
    return {finding.equation for finding in report.failures}


def arrays(scenarios: Scenarios) -> tuple[np.ndarray, np.ndarray]:
    return scenarios.improvements, scenarios.switch_losses


def altered(plan: Plan, part: str | None, **changes) -> Plan:
    """A plan with other numbers in its claims, or in one part of them."""
    claims = plan.claims
    if part is not None:
        changes = {part: msgspec.structs.replace(getattr(claims, part), **changes)}
    return msgspec.structs.replace(plan, claims=msgspec.structs.replace(claims, **changes))


# ---- the count ----


GAINS = [[2, 2, 0], [1, 2, 0], [3, 3, 0], [2, 1.999, 0], [5, -1, 0]]


@pytest.mark.parametrize(("level", "allowed", "ok"), [(0.5, 2, True), (0.6, 2, True), (0.7, 1, False)])
def test_misses_are_counted_as_by_hand(bell, steady_plan, level, allowed, ok):
    """Two epochs must gain 4: the second and the fourth of five scenarios miss."""
    instance, scenarios = bell.replace(quantile_level=level), own(bell, GAINS)
    report = verify(instance, claiming(instance, scenarios, steady_plan), arrays(scenarios))
    finding = the(report, "(3)")
    assert (finding.ok, finding.amount) == (ok, 2 - allowed)
    assert finding.message.startswith("2 of 5 scenarios end above l_max")
    assert finding.kind is (Kind.CHECKED if ok else Kind.FAILED)
    assert ("1 more than the 1 that may" in finding.message) is not ok
    assert the(report, "claim: scenarios.misses").ok
    assert report.ok is ok
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


def test_the_law_is_a_note_that_never_fails_a_plan(bell, steady_plan):
    """l(K) is normal with mean l_max, so that it misses with probability 1/2 under the law."""
    instance, scenarios = bell.replace(quantile_level=0.9), own(bell, [[3, 3, 0]] * 4)
    report = verify(instance, claiming(instance, scenarios, steady_plan), arrays(scenarios))
    note = the(report, "(3) under the law")
    assert report.ok
    assert note.kind is Kind.NOTE
    assert "exceeds 1 - omega = 0.1" in note.message
    assert note.amount == pytest.approx(0.4, rel=1e-6)
    generous = instance.replace(quantile_level=0.4)
    report = verify(generous, claiming(generous, scenarios, steady_plan), arrays(scenarios))
    assert "meets 1 - omega" in the(report, "(3) under the law").message


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


def test_a_loss_within_the_atom_tolerance_meets_the_target(bell, steady_plan):
    for short, misses in [(0.0, 0), (0.5e-9, 0), (2e-9, 1)]:
        scenarios = own(bell, [[2, 2 - short, 0]])
        report = verify(bell, claiming(bell, scenarios, steady_plan), arrays(scenarios))
        assert the(report, "(3)").message.startswith(f"{misses} of 1")


@pytest.mark.parametrize(("misses", "ok"), [(0, True), (1, False), (2, False)])
def test_a_count_that_rounding_leaves_open_passes_only_with_a_claim_that_can_be_right(
    bell, steady_plan, misses, ok
):
    """An increment of 0.125 to two decimals may be 0.12 or 0.13; two of them must give 0.25."""
    instance = bell.replace(maximum_loss=9.75, quantile_level=0.6)
    scenarios = given_scenarios(instance, np.full((2, 3, 1), 0.125), decimals=2)
    plan = claiming(instance, scenarios, steady_plan, misses=misses)
    finding = the(verify(instance, plan, arrays(scenarios)), "(3)")
    assert (finding.kind, finding.ok) == (Kind.UNDECIDED, ok)
    assert finding.message.startswith("0 to 2 of 2 scenarios")


def test_without_a_defined_loss_or_enough_scenarios_a_plan_fails_without_a_count(
    bell, steady_plan, tiny, tiny_optimum
):
    plan, scenarios = claiming(bell, own(bell, GAINS), steady_plan), own(bell, GAINS)
    long = msgspec.structs.replace(plan, epochs=plan.epochs * 2)
    assert {"(3)", "Sec. III, K_max"} <= failing(verify(bell, long, arrays(scenarios)))
    plan = claiming(tiny, draw_scenarios(tiny, 20), tiny_optimum)
    turned = msgspec.structs.replace(plan, epochs=plan.epochs[::-1])
    assert the(verify(tiny, turned), "(3)").message == "the loss is not defined after a forbidden switch"


@pytest.mark.parametrize("count", [6, pytest.param(40, marks=pytest.mark.slow)])
def test_random_plans_are_counted_as_the_solvers_count_them(count):
    """Half of the counts are drawn again, half on arrays that are given; with and without rounding."""
    rng = np.random.default_rng(5)
    met = 0
    for index, instance in enumerate(random_instances(rng, count, maximum_epochs=(3, 8))):
        plan = random_plan(rng, instance)
        scenarios = draw_scenarios(instance, 40, seed=index, decimals=[None, 2, 8, 0][index % 4])
        claimed = claiming(instance, scenarios, plan)
        losses = scenario_losses(instance, scenarios, plan)
        low, high = final_losses(instance, drawn_sample(instance, claimed.claims.scenarios), plan)
        assert np.all((low <= losses) & (losses <= high))
        for draws in (None, arrays(scenarios)):
            report = verify(instance, claimed, draws)
            assert the(report, "claim: scenarios.misses").ok
            assert the(report, "claim: scenarios.allowed").ok
            claim = claimed.claims.scenarios
            assert the(report, "(3)").ok is (claim.misses <= claim.allowed)
        met += the(report, "(3)").ok
    assert 1 < met < count - 1


# ---- drawing again ----


STREAMS = [
    (InverseGamma(mean=1.0, variance=0.3), student(2.5, 0.2, 0.1)),
    (Lognormal(mean=1.0, variance=0.3), student(3, 0.2, 0.1, -0.1, 0.6)),
    (Normal(mean=1.0, variance=0.3), student(3, 0.0, 0.01, 1.0, 2.0)),
    (atoms(0.3, 0.1, 0.7, weights=(1.5, 2.0, 0.3)), atoms(0.1, -0.1)),
]


@pytest.mark.parametrize(("noise", "switch"), STREAMS)
def test_the_stream_is_drawn_again_for_every_law(bell, noise, switch):
    models = tuple(model(name, noise) for name in "ab")
    instance = bell.replace(models=models, other_switches=switch)
    scenarios = draw_scenarios(instance, 300, seed=3)
    claim = claim_of(instance, scenarios, Plan())
    again = drawn_sample(instance, claim)
    for found, expected in zip((again.improvements, again.switch_losses), arrays(scenarios), strict=True):
        assert np.all(found[0] <= expected)
        assert np.all(expected <= found[1])
        assert np.max(found[1] - found[0]) <= 1e-9 * np.max(np.abs(expected))
    sample, findings = claimed_sample(instance, claim, arrays(scenarios))
    assert sample is not None
    assert all(finding.ok for finding in findings)


@pytest.mark.parametrize("part", [0, 1])
def test_one_number_that_is_not_finite_is_refused_although_the_digest_is_right(bell, steady_plan, part):
    """Of a scenario that is not a number no count could say that it misses."""
    draws = np.full((4, 3, 1), 3.0), np.zeros((4, 3, 1, 1))
    draws[part].flat[2] = (math.nan, math.inf)[part]
    plan = claiming(bell, own(bell, [[3, 3, 0]] * 4), steady_plan)
    digest = plan.claims.scenarios.digest[:16] + verifier_sample.numbers_digest(draws)
    finding = the(verify(bell, altered(plan, "scenarios", digest=digest), draws), "claim: scenarios")
    assert finding.kind is Kind.FAILED
    assert finding.message == (
        f"{('improvements', 'switches')[part]} were given with numbers that are not finite"
    )


def test_draws_that_are_not_those_of_the_seed_are_refused(tiny, tiny_optimum):
    scenarios = draw_scenarios(tiny, 20, seed=3)
    wrong = scenarios.improvements.copy()
    wrong[7, 1, 0] += 4
    changed = Scenarios(wrong, scenarios.switch_losses, seed=3)
    report = verify(tiny, claiming(tiny, changed, tiny_optimum), arrays(changed))
    assert failing(report) == {"claim: scenarios.seed"}
    assert "improvements[7, 1, 0]" in the(report, "claim: scenarios.seed").message


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ((np.zeros((2, 3, 1)), np.zeros((2, 3, 1, 1))), "shape (2, 3, 1)"),
        ((np.zeros((1, 3, 1)), np.zeros((1, 3, 1))), "switches of shape (1, 3, 1)"),
        ((np.ones((1, 3, 1)), np.zeros((1, 3, 1, 1))), "have the digest"),
    ],
)
def test_other_scenarios_than_those_claimed_are_refused(bell, steady_plan, draws, words):
    report = verify(bell, claiming(bell, own(bell, [[3, 3, 0]]), steady_plan), draws)
    assert "(3)" in failing(report)
    assert any(words in finding.message for finding in report.failures)


def test_scenarios_that_cannot_be_drawn_again_are_asked_for(bell, steady_plan, monkeypatch):
    """Those of the user's own, and samples that are too large."""
    report = verify(bell, claiming(bell, own(bell, [[3, 3, 0]]), steady_plan))
    assert failing(report) == {"(3)", "claim: scenarios"}
    for words in ("not of a seeded stream", "--scenarios FILE.npz", "draws="):
        assert words in the(report, "claim: scenarios").message
    monkeypatch.setattr(verifier_sample, "LARGEST_STREAM", 5 * 3 * 2 - 1)
    instance, scenarios = bell.replace(quantile_level=0.1), draw_scenarios(bell, 5)
    plan = claiming(instance, scenarios, steady_plan)
    report = verify(instance, plan)
    assert failing(report) == {"(3)", "claim: scenarios"}
    assert "would have to be drawn again" in the(report, "claim: scenarios").message
    report = verify(instance, plan, arrays(scenarios))
    assert report.ok
    assert the(report, "claim: scenarios.seed").kind is Kind.REPEATED
    report = verify(bell, msgspec.structs.replace(steady_plan, claims=None), arrays(draw_scenarios(bell, 3)))
    assert "not used" in the(report, "claim: scenarios").message


# ---- every number of a claim, altered ----


@pytest.fixture(scope="module")
def solved():
    """A plan with all claims, dual bound and lower bound among them; both bounds say something."""
    counts = {"maximum_epochs": (3, 4), "clusters": (1, 2), "datasets": (1, 2), "models": (2, 2)}
    instance = list(random_instances(np.random.default_rng(21), 3, **counts))[2]
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
    ("part", "name", "change"),
    [
        (None, "cost", lambda value: value * (1 + 1e-8)),
        (None, "training_time", lambda value: value * (1 - 1e-8)),
        (None, "lower_bound", lambda value: value * (1 + 1e-8)),
        ("violation", "upper", lambda value: 0.0),
        ("quantile", "lower", lambda value: value + 10.0),
        ("dual", "time_price", lambda value: value * (1 + 1e-6)),
        ("dual", "gain_price", lambda value: value * (1 + 1e-6)),
        ("dual", "bound", lambda value: value * (1 + 1e-8)),
        ("dual", "bound", lambda value: value * (1 - 1e-8)),
        ("scenarios", "misses", lambda value: value - 1),
        ("scenarios", "allowed", lambda value: value + 1),
        ("scenarios", "size", lambda value: value + 1),
        ("scenarios", "seed", lambda value: value + 1),
        ("scenarios", "decimals", lambda value: 1),
    ],
)
def test_every_number_that_is_altered_is_refused(solved, part, name, change):
    instance, plan, _ = solved
    old = getattr(plan.claims if part is None else getattr(plan.claims, part), name)
    listed = MOST_PLANS if name == "lower_bound" else 0  # no other number needs the list of all plans
    report = verify(instance, altered(plan, part, **{name: change(old)}), most_plans=listed)
    assert not report.ok
    assert any(finding.kind is Kind.FAILED for finding in report.failures)


def test_an_altered_digest_is_refused_where_the_scenarios_are_given_and_a_dual_bound_without_any(solved):
    instance, plan, _ = solved
    draws = arrays(draw_scenarios(instance, 60, seed=2))
    assert verify(instance, plan, draws).ok
    digest = plan.claims.scenarios.digest
    other = altered(plan, "scenarios", digest="0" * 64)
    assert "claim: scenarios.digest" in failing(verify(instance, other))
    other = altered(plan, "scenarios", digest=digest[:-1] + ("1" if digest[-1] == "0" else "0"))
    assert "claim: scenarios.digest" in failing(verify(instance, other, draws))
    # last digits of numbers drawn again
    assert the(verify(instance, other), "claim: scenarios.digest").kind is Kind.REPEATED
    assert "claim: dual bound" in failing(verify(instance, altered(plan, None, scenarios=None)))


# ---- lower bounds: proved again, repeated, refuted ----


def bound_finding(instance, plan, bound, **options) -> Finding:
    return the(verify(instance, altered(plan, None, lower_bound=bound), **options), "claim: lower_bound")


def test_a_lower_bound_is_proved_by_the_dual_or_by_listing_and_else_repeated(solved):
    instance, plan, result = solved
    dual = plan.claims.dual.bound
    middle = (dual + result.cost) / 2
    below = bound_finding(instance, plan, dual, most_plans=0)
    assert below.kind is Kind.CHECKED
    assert "dual bound" in below.message
    above = bound_finding(instance, plan, middle, most_plans=0)
    assert (above.kind, above.ok) == (Kind.REPEATED, True)
    assert "nothing here proves it" in above.message
    by_listing = bound_finding(instance, plan, middle)
    assert by_listing.kind is Kind.CHECKED
    assert "none of all" in by_listing.message
    assert bound_finding(instance, plan, -1.0, most_plans=0).kind is Kind.CHECKED


def test_a_lower_bound_above_the_listed_optimum_is_refused_under_the_law(tiny, tiny_optimum):
    epochs = tuple(msgspec.structs.replace(epoch, resources=3.5) for epoch in tiny_optimum.epochs)
    expensive = msgspec.structs.replace(tiny_optimum, epochs=epochs, claims=Claims())
    assert verify(tiny, altered(expensive, None, lower_bound=28.0)).proved_bound == 28.0
    refused = bound_finding(tiny, expensive, 28.1)
    assert refused.kind is Kind.FAILED
    assert "of another plan" in refused.message
    assert refused.amount == pytest.approx(0.1, rel=1e-6)


def test_a_lower_bound_is_left_open_where_judging_the_plans_listed_takes_too_long(
    steady, steady_plan, monkeypatch
):
    """Only changes of the model are charged: any switch would cost 100, but one model stays."""
    instance = steady.replace(other_switches=Deterministic(value=100))
    found = [listed(instance, None, bound, MOST_PLANS)[1] for bound in (24.0, 24.1)]
    assert found == [None, pytest.approx(24, rel=1e-9)]
    epochs = tuple(msgspec.structs.replace(epoch, resources=5.0) for epoch in steady_plan.epochs)
    expensive = msgspec.structs.replace(steady_plan, epochs=epochs, claims=Claims())
    assert bound_finding(steady, expensive, 25.0).kind is Kind.FAILED
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 0)
    finding = bound_finding(steady, expensive, 25.0)
    assert (finding.kind, finding.ok) == (Kind.REPEATED, True)
    assert "nothing here proves it" in finding.message


@pytest.mark.parametrize("count", [2, pytest.param(16, marks=pytest.mark.slow)])
def test_listing_finds_the_cheapest_plan_of_random_instances(count):
    """On scenarios the optimum of the solvers' tables, under the law that of the enumeration.

    No plan is cheaper than it; one is cheaper than a little more.
    """
    decided = 0
    for problem in problems(seed=31, count=count):
        enumerated = solve(problem.instance, "enumerate").cost
        for sample, optimum in ((sample_of(problem), cheapest(problem)), (None, enumerated)):
            if optimum in (None, math.inf):
                continue
            bounds = optimum, optimum * (1 + 1e-8) + 1e-8
            found = [listed(problem.instance, sample, bound, MOST_PLANS) for bound in bounds]
            if None not in found:
                decided += 1
                assert [cost for _, cost in found] == [None, pytest.approx(optimum, rel=1e-10, abs=1e-12)]
    assert decided >= count


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
    drawn = draw_scenarios(tiny, 4, seed=2)
    counting = Requirement(tiny, given_sample((drawn.improvements, drawn.switch_losses), None))
    monkeypatch.setattr(verifier_requirements, "counted", lambda *_: Count(certain=1, possible=2, allowed=1))
    assert counting.verdict(tiny_optimum) == (True, False)
    budget = 1 - Fraction(str(tiny.target.quantile_level))
    monkeypatch.setattr(LossFacts, "exceeding", lambda *_: Bracket(budget / 2, budget * 2))
    assert Requirement(tiny).verdict(tiny_optimum) == (True, False)


def test_as_many_probabilities_as_said_are_computed_and_then_remembered(steady, steady_plan, monkeypatch):
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 1)
    longer = depl.Plan(data=steady_plan.data, epochs=(*steady_plan.epochs, steady_plan.epochs[0]))
    requirement = Requirement(steady)
    assert requirement.verdict(steady_plan) == (True, True)
    assert requirement.verdict(longer) is None
    assert requirement.verdict(steady_plan) == (True, True)


def facts(certain, *increments):
    return LossFacts(Fraction(certain), tuple(increments), ())


@pytest.mark.parametrize(("level", "left_out"), [(0.75, False), (0.76, True)])
def test_two_atoms_attain_the_inequality_of_cantelli(level, left_out):
    """l(1) is 6 with probability 3/4 and 10 else: mean 7, variance 3, and V / (V + (7 - 6)^2) = 3/4."""
    law = atoms(4.0, 0.0, weights=(3.0, 1.0))
    assert excluded(facts(10, Increment(Fraction(-1), law)), 6.0, level) is left_out


@pytest.mark.parametrize(("off", "left_out"), [(0.0, False), (0.9e-13, False), (1e-12, True)])
def test_sums_off_by_their_rounding_exclude_nothing_and_by_much_more_they_do(off, left_out):
    """With omega = 3/4, a mean E above l_max and a variance 3 E^2 attain the inequality of Cantelli.

    E is so great that only what is relative to the sums counts.
    """
    law = Normal(mean=1e6 * (1 + off), variance=3e12 * (1 - off))
    assert excluded(facts(0, Increment(Fraction(1), law)), 0.0, 0.75) is left_out


def test_copies_add_up_and_a_coefficient_counts_twice_in_the_variance():
    """Four copies of half of it: mean 2, variance 4 / 4 * v."""
    for variance, left_out in ((11.9, True), (12.1, False)):
        item = Increment(Fraction(1, 2), Normal(mean=1.0, variance=variance), 4)
        assert excluded(facts(0, item), 0.0, 0.75) is left_out


def test_what_is_certain_and_too_much_is_excluded_and_an_infinite_variance_excludes_nothing():
    assert excluded(facts(5), 4.0, 0.9)
    assert not excluded(facts(5), 5.0, 0.9)
    wide = student(2.0, 0.0, 1e-3)
    assert not excluded(facts(5, Increment(Fraction(1), wide)), 4.0, 0.999)
