"""Claims of a completion, on attempts made by hand: every verdict can be seen from the numbers."""

import pytest

from depl.benchmarks.analysis.completion_claims import claims_of_completion, completion_claims, together
from tests.cases.attempts_factory import attempt_of

FAST, MIDDLE, SLOW = "fast-unsteady", "intermediate", "slow-steady"


def attempts(**changes):
    """A completion that shows every claim: (cost, epochs per model) at the targets 5 and 13."""
    rows = {
        "exact": [(100, {FAST: 2, MIDDLE: 3, SLOW: 9}), (50, {MIDDLE: 8})],
        "depl": [(101, {FAST: 2, MIDDLE: 3, SLOW: 9}), (52, {MIDDLE: 8})],
        "depl-paper": [(140, {FAST: 9, MIDDLE: 9}), (50, {MIDDLE: 8})],
        "expected-greedy": [(200, {FAST: 15}), (120, {FAST: 8})],
        "expected-cost": [(105, {FAST: 8, SLOW: 9}), (50, {MIDDLE: 8})],
        **changes,
    }
    made = []
    for name, row in rows.items():
        for target, given in zip((5, 13), row, strict=True):
            cost, epochs = given or (None, {})
            made.append(
                attempt_of(
                    f"one-{target}",
                    name,
                    suite="reconstruction",
                    cost=cost,
                    ending="optimal" if name == "exact" and cost else "exhausted",
                    labels={"completion": "one", "target": float(target)},
                    epochs_by_model=epochs,
                )
            )
    return made


def test_a_completion_that_shows_everything():
    found = claims_of_completion(attempts())
    # savings of depl on greedy: 1 - 101/200 = .495 and 1 - 52/120 = .567
    assert found["over 27 % of expected-greedy saved by depl"] is True
    assert found["expected-greedy over 27 % above depl"] is True
    # 98 % above at 5, 131 % at 13
    assert found["expected-greedy farthest above depl at the loosest target"] is True
    assert found["depl within 5 % of the optimum"] is True
    assert found["exact uses intermediate alone when loose"] is True
    assert found["exact uses all models when tight"] is True
    assert found["expected-greedy uses fast-unsteady most"] is True
    assert together(found, "depl", "expected-greedy") is True


def test_readings_of_one_claim_differ():
    found = claims_of_completion(attempts())
    # depl-paper on expected-cost: 1 - 140/105 < 0 and 1 - 50/50 = 0
    assert found["over 27 % of expected-cost saved by depl-paper"] is False
    assert found["depl-paper within 5 % of the optimum"] is False
    assert found["expected-cost uses fast-unsteady most"] is False
    assert together(found, "depl-paper", "expected-cost") is False


def test_the_two_bases_of_27_percent_differ():
    # 1 - 100/130 = .231 saved, 130/100 - 1 = .3 above, at both targets
    made = attempts(**{"depl": [(100, {SLOW: 1}), (100, {SLOW: 1})], "expected-cost": [(130, {SLOW: 1})] * 2})
    found = claims_of_completion(made)
    assert found["over 27 % of expected-cost saved by depl"] is False
    assert found["expected-cost over 27 % above depl"] is True
    assert found["expected-cost farthest above depl at the loosest target"] is False


def test_what_is_missing_is_open_and_a_missed_plan_is_not_close():
    found = claims_of_completion(attempts(**{"depl-paper": [None, (50, {MIDDLE: 8})]}))
    assert found["over 27 % of expected-greedy saved by depl-paper"] is None
    assert found["depl-paper uses all models when tight"] is None
    assert found["depl-paper within 5 % of the optimum"] is False
    assert found["depl within 5 % of the optimum"] is True


@pytest.mark.parametrize("claim", ["depl within 5 % of the optimum", "exact uses all models when tight"])
def test_without_a_proved_optimum_nothing_is_said_about_it(claim):
    assert claims_of_completion(attempts(exact=[None, (50, {MIDDLE: 8})]))[claim] is None


def test_the_table_counts_completions():
    table = completion_claims(attempts())
    rows = {row["claim"]: (row["shown"], row["not shown"], row["open"]) for row in table.records()}
    assert rows["depl within 5 % of the optimum"] == (1, 0, 0)
    assert rows["expected-cost uses fast-unsteady most"] == (0, 1, 0)
