"""The evaluator of policies: it accepts what is true, agrees with planning, objects to what was altered."""

import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import planning
from depl.models.policy.follow import counted
from depl.models.policy.planning import solve_policy
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Lognormal, Normal
from depl.models.problem.policy import STOP, Policy
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier import policies, policy_ends
from depl.models.verifier.findings import Kind
from depl.models.verifier.laws import Increment, decimal
from depl.models.verifier.policies import verify_policy
from depl.models.verifier.policy_ends import Count, course, exact_reached
from depl.models.verifier.policy_noise import EDGE, Noise
from depl.models.verifier.policy_walk import walked
from tests.cases.memory_cases import FAR, FULL, instance_of, random_law, run_of
from tests.cases.policy_cases import TWO, tiny
from tests.cases.traced_law_cases import full_then_far, halves
from tests.oracles.policy_processes import Beginning, Counting, tree_of
from tests.problems import JUMP, atoms, gains, model, student


@cache
def planned():
    """A policy that switches, goes on above the target, and gives up; no loss is on the target."""
    return TWO, of_cells(128, TWO, gap=0.0)


def of_cells(cells, instance, **options):
    """The policy that is planned on a grid of so many cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "GRIDS", (cells,))
        return solve_policy(instance, **options).policy


def altered(instance, policy, change):
    """What is said of a policy after ``change`` of its document."""
    document = json.loads(policy.to_json())
    change(document)
    return verify_policy(instance, Policy.from_json(json.dumps(document)))


def accepted(instance, policy):
    """What is said of a policy that nothing is wrong with."""
    report = verify_policy(instance, policy)
    assert report.ok, report.failures
    return report


def failing(report):
    return {item.equation for item in report.failures}


def numbers(item, path=""):
    """Paths of all numbers of a document, with dots between names and indices."""
    inside = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for name, inner in inside:
        yield from numbers(inner, f"{path}.{name}".removeprefix("."))
    if isinstance(item, int | float) and not isinstance(item, bool):
        yield path


def at(path, value):
    """The change of a document at a path: another value, or what is made of the one that stands there."""

    def change(document):
        *outer, last = (int(name) if name.lstrip("-").isdigit() else name for name in path.split("."))
        for name in outer:
            document = document[name]
        document[last] = value(document[last]) if callable(value) else value

    return change


def renamed(name, new):
    """The change of a document that names something otherwise, wherever it does."""
    return lambda document: document.update(json.loads(json.dumps(document).replace(f'"{name}"', f'"{new}"')))


def test_a_policy_that_was_planned_is_accepted_and_its_claims_are_those_of_the_chain():
    instance, policy = planned()
    report = accepted(instance, policy)
    assert report.course.cost == pytest.approx(policy.certificate.cost, rel=1e-10)
    assert report.course.reached == pytest.approx(policy.certificate.reached, rel=1e-10)
    assert report.course.rounding < 1e-14
    assert {item.subject for item in report.checked} == {"cost", "reached"}
    assert {item.subject for item in report.repeated} == {"lower_bound", "ratio"}
    assert report.course.abandoned > 0
    assert report.course.exhausted > 0


def test_every_number_that_is_altered_is_objected_to_or_what_is_claimed_still_holds():
    instance, policy = planned()
    tree, refused, harmless = tree_of(instance), 0, []
    for path in list(numbers(json.loads(policy.to_json())))[::9]:
        for change in (lambda x: x + 1, lambda x: x - 1, lambda x: x * (1 + 1e-5)):
            document = json.loads(policy.to_json())
            at(path, change)(document)
            try:
                other = Policy.from_json(json.dumps(document))
                assert other == policy or verify_policy(instance, other).ok
            except (InvalidInputError, AssertionError):
                refused += 1
                continue
            if other != policy:
                cost, failure = tree.followed(other)
                assert float(cost) <= other.certificate.cost * (1 + 1e-12), path
                assert float(1 - failure) >= other.certificate.reached - 1e-12, path
                harmless.append(path)
    assert refused > 3 * len(harmless)
    unclaimed = {"upto", "cost", "reached", "lower_bound", "multiplier", "origin", "step", "action", "0"}
    assert {path.split(".")[-1] for path in harmless} <= unclaimed


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("instance", at("instance", "0" * 64)),
        ("target", at("maximum_loss", 0.36)),
        ("target", at("maximum_epochs", 4)),
        ("target", lambda d: d.update(maximum_epochs=4, round_deadline=1.0)),
        ("target", at("round_deadline", 1 + 1.1e-9)),
        ("state", at("state", "observed")),
        ("state", at("certificate.method", "counted")),
        ("grid", at("grid.limit", 0.351)),
        ("grid, target", at("grid.target", lambda x: x + 1)),
        ("data", at("data", [{"cluster": "elsewhere", "datasets": ["data"]}])),
        ("data", at("data", [{"cluster": "site", "datasets": ["data", "data"]}])),
        ("switch_epochs", at("switch_epochs", [])),
        ("failure_cost", at("failure_cost", 1.0)),
        ("failure_cost", at("certificate.ratio", None)),
        (  # above the lower end of the cost of a success, not above the upper one
            "failure_cost",
            lambda d: d.update(failure_cost_rule="given") or d["certificate"].update(ratio=[5.0, 10.0]),
        ),
        ("claim: cost", at("certificate.cost", lambda x: x * (1 - 1e-9))),
        ("claim: reached", at("certificate.reached", lambda x: x + 1e-9)),
        ("claim: lower_bound", at("certificate.lower_bound", 1e3)),
        ("(2)", at("nodes.0.trainings.0.price", 0.5)),
        ("law", at("nodes.0.trainings.0.shift", 1e-9)),
        ("law", at("nodes.0.trainings.0.retention", 0.5)),
        ("sites, deployment", at("nodes.-1.may_stop", False)),
        ("rows", at("nodes.0.rows", [{"upto": 127, "action": -1}])),
        ("rows", at("nodes.1.rows", [{"upto": 127, "action": 0}])),
        ("rows", at("nodes.1.rows", lambda rows: [{"upto": 0, "action": 0}, *rows])),  # in one cell alone
        ("rows", at("nodes.0.rows.-1.action", -1)),  # in the highest cells alone
        ("nodes", at("nodes", lambda nodes: [*nodes, nodes[-1]])),
        ("nodes", renamed("small", "none")),
        ("nodes", renamed("site", "none")),
    ],
)
def test_what_is_wrong_is_named(rule, change):
    assert rule in failing(altered(*planned(), change))


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (
            lambda d: d["clusters"][0].update(memory=1) or d["models"][1].update(memory=2),
            {"sites, memory", "nodes"},
        ),
        (at("other_switches", {"type": "forbidden"}), {"Sec. III, switches"}),
        (at("models.0.improvement.noise", {"type": "undeclared"}), {"law"}),
        (
            lambda d: (
                d["clusters"].append(d["clusters"][0] | {"name": "other"})
                or d["datasets"][0].update(clusters=["other"])
            ),
            {"data", "nodes"},
        ),
        (at("target.maximum_time", 2.5), {"(4)"}),
        (at("target.maximum_time", 3 / (1 + 0.9e-9)), set()),
        (at("target.maximum_time", 3 / (1 + 1.1e-9)), {"(4)"}),
    ],
)
def test_a_policy_is_held_against_the_limits_of_its_instance(change, rules):
    """Its runs take three epochs of time 1 at most."""
    instance, policy = planned()
    document = json.loads(instance.to_json())
    change(document)
    other = Instance.from_json(json.dumps(document))
    assert failing(altered(other, policy, at("instance", other.fingerprint))) == rules


def test_data_that_a_policy_names_itself_are_accepted_where_they_may_be_used():
    named = [{"cluster": "site", "datasets": ["data"]}]
    assert altered(*planned(), at("data", named)).ok


def test_tolerances_are_relative_to_what_they_belong_to():
    """A price of a failure to 1e-9 of what rules it, a shift to some units in the last place of the grid."""
    instance, policy = planned()
    price, grid = policy.failure_cost, policy.grid
    largest = max(abs(grid.origin), abs(grid.origin + grid.cells * grid.step), abs(grid.limit))
    assert price > 5
    assert largest < 0.9 or largest > 1.2
    for share, wrong in ((-0.9, set()), (0.9, set()), (-1.1, {"failure_cost"}), (1.1, {"failure_cost"})):
        given = {"failure_cost": price * (1 + share * 1e-9), "multiplier": 2 * price}
        assert (
            failing(altered(instance, policy, lambda d, given=given: d.update(given))) & {"failure_cost"}
            == wrong
        )
    shift = policy.nodes[0].trainings[0].shift
    for share, wrong in ((0.9, set()), (1.1, {"law"})):
        moved = at("nodes.0.trainings.0.shift", shift + share * policies._SHIFT_ROUNDING * largest)
        assert failing(altered(instance, policy, moved)) & {"law"} == wrong


def test_epochs_are_asked_for_by_their_number():
    """Improvements of every epoch differ."""
    improving = gains(*(atoms(0.1 * k, 0.1 * k + 0.2) for k in (1, 2, 3)))
    instance = tiny(0.1, 0.4, maximum_epochs=3).replace(models=(model("small", improving, 1.0, 0),))
    assert accepted(instance, of_cells(128, instance, failure_cost=50.0)).course.epochs > 1


@pytest.mark.parametrize("away", [-1, 0, 1])
def test_an_exact_probability_is_worked_out_in_fractions(away, monkeypatch):
    """The tree of all runs says what it is; a part in 10^15 more is refuted, however it is claimed."""
    instance = TWO.replace(initial_loss=0.9)
    policy = of_cells(128, instance, gap=0.0)
    exact = 1 - tree_of(instance).followed(policy)[1]
    claimed = exact + away * Fraction(1, 10**15)
    change = at("certificate.exactly", f"{claimed.numerator}/{claimed.denominator}")
    assert failing(altered(instance, policy, change)) == ({"(3)"} if away > 0 else set())
    reached = float(exact) if Fraction(float(exact)) > exact else math.nextafter(float(exact), 1)
    above = altered(instance, policy, lambda d: change(d) or at("certificate.reached", reached)(d))
    assert "(3)" in failing(above)
    monkeypatch.setattr(policy_ends, "_MOST_MOVES", 1)
    (finding,) = altered(instance, policy, change).failures
    assert finding.kind is Kind.UNDECIDED
    asked = instance.replace(quantile_level=math.nextafter(float(exact), 1))

    def of_other(document):
        change(document)
        document.update(instance=asked.fingerprint, quantile_level=asked.target.quantile_level)

    monkeypatch.undo()
    assert "(3)" in failing(altered(asked, policy, of_other))


@pytest.mark.parametrize("seed", range(6))
def test_a_ledger_whose_cells_are_the_losses_gives_what_the_tree_of_runs_does(seed):
    """Losses are tenths, as the cells are; the grid begins and ends anywhere, and rows do anything."""
    instance, policy = planned()
    rng, document = np.random.default_rng(seed), json.loads(policy.to_json())
    target, cells = seed % 3, int(rng.integers(5, 12))
    document["grid"] |= {"origin": 0.3 - 0.1 * target, "step": 0.1, "cells": cells, "target": target}
    for node in document["nodes"]:
        last = len(node.get("trainings", ())) - 1  # that is STOP where there are none
        above = rng.integers(min(last, -(node["epoch"] > 0)), last, cells - target - 1, endpoint=True)
        actions = [STOP] * (target + 1) + above.tolist()
        node["rows"] = [{"upto": upto, "action": action} for upto, action in enumerate(actions)]
    other, tree, losses = Policy.from_json(json.dumps(document)), tree_of(instance), (0.2, 0.4, 0.7, 1.1)
    begun = Beginning(None, {decimal(loss): Fraction(1, 4) for loss in losses})
    cost, failure = tree.followed(other, begun)
    walk, start = walked(instance, other), np.array(losses)
    found = course(other, walk, start)
    assert (found.cost, found.failed) == pytest.approx((float(cost), float(failure)), rel=1e-12)
    assert exact_reached(other, walk, start) == 1 - failure


@pytest.mark.parametrize("training", [0, 1])
def test_the_longest_of_all_ways_has_to_be_in_time(training):
    """After one of both trainings of the first epoch a run ends; after the other it takes three epochs."""
    instance, policy = planned()
    other = instance.replace(maximum_time=2.5)
    short = policy.nodes[policy.start].trainings[training].following

    def change(document):
        document["instance"] = other.fingerprint
        document["nodes"][short] |= {"trainings": [], "rows": [{"upto": 127, "action": -1}]}

    assert "(4)" in failing(altered(other, policy, change))


def test_a_policy_on_the_observed_loss_that_claims_nothing_countable_is_left_undecided():
    report = altered(*planned(), at("state", "observed"))
    assert [item.kind for item in report.failures] == [Kind.UNDECIDED]


def test_a_run_that_meets_the_target_before_training_is_no_success_that_was_paid_for():
    """Half of the runs begin at 1.5, below 2; the others are at 2.5 - 1, + 0, 0.25 or 1.25, and then at 1."""
    runs = [run_of([(FULL, 1), (FAR, 1)], [4 - 2.5 * (k % 2), 1.5 + (k // 2) % 2, 1]) for k in range(8)]
    law = full_then_far(runs, 0.0, residuals="independent")
    target = {"maximum_time": None, "round_deadline": 6.0, "maximum_epochs": 2, "quantile_level": 0.8}
    instance = instance_of(law, maximum_loss=2, **target)
    policy = of_cells(256, instance, failure_cost=100.0)
    report = accepted(instance, policy)
    assert (report.course.reached, report.course.epochs) == pytest.approx((1, 0.5 * (1 + 3 / 4)))
    own = report.course.cost / 0.5
    for low, rules in ((own * (1 + 0.9e-9), set()), (own * (1 + 1.1e-9), {"claim: ratio"})):
        claimed = altered(instance, policy, at("certificate.ratio", [low, 2 * own]))
        assert failing(claimed) == rules
    met = planned()[0].replace(initial_loss=0.35)
    report = accepted(met, of_cells(128, met, gap=0.0))
    assert (report.course.reached, report.course.epochs, report.course.cost) == (1, 0, 0)


SKEWED = Lognormal(mean=0.3, variance=0.02)


@pytest.mark.parametrize(
    ("gain", "losses"),
    [
        (SKEWED, [atoms(0.0, 0.25)]),
        (SKEWED, [JUMP, atoms(0.0, 0.25)]),
        (SKEWED, [student(3.0, 0.1, 0.05, -0.1, 0.2)]),
        (Normal(mean=0.3, variance=0.04), [Normal(mean=0.1, variance=0.01)] * 2),
        (SKEWED, [student(1.5, 0.1, 0.5)]),  # reaches far beyond
        (None, [student(1.5, 0.1, 0.5), student(1.5, 0.1, 0.4)]),  # so do both
        (SKEWED, [student(3.0, 50.0, 0.05, 49.0, 51.0)]),
    ],
)
@pytest.mark.parametrize(("low", "high"), [(-12, 6), (-3, 1)])
def test_cells_of_a_noise_hold_the_share_of_draws_in_them(gain, losses, low, high):
    """Of two laws with densities, too, which are summed in parts of cells: never more, the rest is lost."""
    gained = [] if gain is None else [Increment(Fraction(-1), gain)]
    increments = [*gained, *(Increment(Fraction(1), law) for law in losses)]
    rng, step, draws = np.random.default_rng(8), 0.05, 400_000
    noise = Noise.of(increments)
    drawn = sum(float(item.coefficient) * item.law.sample(rng, draws) for item in increments)
    found = noise.on_cells(step, low, high)
    cells = np.ceil(drawn / step - EDGE)
    seen = [cells == found.first + place for place in range(found.masses.size)]
    rest = np.mean([*seen, cells < low, cells > high], axis=1) - [*found.masses, found.below, found.above]
    error = 5 * np.sqrt(0.25 / draws)
    assert rest.min() > -error
    assert rest.max() < error + found.lost
    assert math.fsum([*found.masses, found.below, found.above, found.lost]) == pytest.approx(1, abs=1e-13)


def test_atoms_on_the_edge_of_a_cell_belong_to_it_and_those_beside_the_cells_are_kept_apart():
    law = atoms(-30, 1, 2, 3, 40, weights=(1, 1, 2, 3, 1))
    noise = Noise.of((Increment(decimal(0.1), law),))
    found = noise.on_cells(0.1, -5, 5)
    masses = {cell: mass for cell, mass in enumerate(found.masses.tolist(), found.first) if mass}
    assert masses == {1: 1 / 8, 2: 2 / 8, 3: 3 / 8}
    assert (found.below, found.above) == (0.125, 0.125)


def test_laws_with_densities_are_claimed_on_the_safe_side_and_hardly_beside_what_is_found():
    instance = tiny(
        SKEWED,
        Normal(mean=0.4, variance=0.04),
        other_switches=atoms(0.0, 0.1),
        quantile_level=0.5,
    )
    policy = of_cells(512, instance, gap=0.1)
    report, claimed = accepted(instance, policy), policy.certificate
    assert report.course.cost <= claimed.cost <= report.course.cost * (1 + 1e-7)
    assert report.course.reached - 1e-7 <= claimed.reached <= report.course.reached


@cache
def counted_policy(seed):
    rng = np.random.default_rng(seed)
    law = random_law(
        rng,
        residuals="per_run",
        scale="log" if seed % 4 == 3 else "loss",
        deviations=(-0.03, 0.05) if rng.random() < 0.5 else (),
        **({"diverged": 1, "unseen_loss": 9.0} if seed % 3 == 0 else {}),
    )
    instance = instance_of(
        law, round_deadline=6.0, maximum_time=None, maximum_epochs=4, maximum_loss=1.0, quantile_level=0.3
    )
    return instance, law, solve_policy(instance).policy


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_what_is_counted_is_what_planning_and_every_combination_by_itself_say(seed):
    instance, law, policy = counted_policy(seed)
    found, oracle = Count(policy, walked(instance, policy), law), Counting(policy, law)
    assert found.ends["reached"] == oracle.reached
    assert float(found.cost) == pytest.approx(
        float(oracle.cost), rel=1e-14
    )  # prices may differ in a last bit
    assert sum(found.ends.values()) == 1
    other = counted(policy, law)
    assert found.ends["reached"] == other.reached
    assert float(found.cost) == pytest.approx(other.cost, rel=1e-10)
    assert found.ends["unlike"] == other.unlike
    assert found.fewest == other.runs
    report = accepted(instance, policy)
    assert {item.subject for item in report.checked} >= {"cost", "reached", "runs"}


def test_a_recorded_loss_on_the_target_meets_it_and_one_at_the_first_index_acts_as_its_row_says():
    """Of eight runs, and one unlike them, half end at 2 after two epochs, the others at 1; all but 2 is met.

    Two epochs are trained from a loss of 2 after one, which has the first index of a grid that begins there.
    """
    law = halves(deviations=(-0.9e-9, 0.9e-9))
    target = {"maximum_time": None, "round_deadline": 6.0, "maximum_epochs": 2, "quantile_level": 0.5}
    instance = instance_of(law, maximum_loss=2, deployable=("cut",), **target)
    policy = of_cells(256, instance, failure_cost=100.0)
    report = accepted(instance, policy)
    assert report.course.reached == 64 / 81

    def change(document):
        document["grid"] |= {"origin": 2.0, "target": 0}
        rows = document["nodes"][1]["rows"]
        rows[:] = {"upto": 0, "action": 0}, rows[-1] | {"action": STOP}

    found = altered(instance, policy, change).course
    assert (found.reached, found.abandoned) == (32 / 81, 4 / 9)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("claim: reached", at("certificate.reached", lambda x: x + 1e-9)),
        ("claim: cost", at("certificate.cost", lambda x: x * (1 - 1e-9))),
        ("claim: runs", at("certificate.runs", lambda x: x + 1)),
        ("claim: lower_bound", at("certificate.lower_bound", 1e4)),
        ("claim: ratio", at("certificate.ratio", [1e9, 1.0])),
        ("state", at("certificate.method", "none")),
        ("state", at("state", "ledger")),
        ("law", at("nodes.0.trainings.0.shift", 1.0)),
        ("law", at("nodes.0.trainings.0.retention", 0.123)),
        ("failure_cost", at("failure_cost", lambda x: x / 4)),
    ],
)
def test_what_is_altered_in_a_counted_policy_is_objected_to(rule, change):
    instance, _, policy = counted_policy(2)
    assert rule in failing(altered(instance, policy, change))


def test_a_policy_of_one_law_is_not_counted_under_another():
    instance, law, policy = counted_policy(2)
    for residuals, deviations in (("independent", ()), ("per_run", (0.1,))):
        other = TracedLaw(
            runs=law.runs, steps=law.steps, jumps=law.jumps, residuals=residuals, deviations=deviations
        )
        changed = instance.replace(traced_law=other)
        assert not altered(changed, policy, at("instance", changed.fingerprint)).ok


def test_more_combinations_than_are_kept_are_left_undecided(monkeypatch):
    instance, _, policy = counted_policy(2)
    monkeypatch.setattr(policy_ends, "MOST_TOGETHER", 3)
    report = verify_policy(instance, policy)
    assert not report.ok
    assert "more than 3 combinations" in report.failures[0].message
