"""Stage 1: what follows from an instance, and every rule against all subsets and dynamic programming."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.benchmarks.studies.helpers.set_functions import LAWS, communicating_selection, random_selection
from depl.heuristics.data.epochs_needed import NeededEpochs, TabledEpochs
from depl.heuristics.data.problem import selection_of_numbers, selection_problem
from depl.heuristics.data.select import (
    MOST_LISTED,
    Rule,
    best_prefix,
    branch_and_bound,
    density_order,
    relaxed,
    select_datasets,
)
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import ComputeTable, Dataset
from depl.models.problem.learning import (
    InverseLogDataLaw,
    LogDataLaw,
    PowerDataLaw,
    SubsetEpochs,
    TableDataLaw,
)
from tests.oracles.subset_sum import subset_sum
from tests.problems import datasets, model, site, transfers


def best_of_all(problem, nonempty=True):
    """The least of K^(Q) (t0 + sum tau) + sum beta over all sets, K^ written out once more, and its set."""
    law, first = problem.needed.law, 1 if nonempty else 0
    sets = (np.arange(first, 1 << problem.size)[:, None] >> np.arange(problem.size)) & 1
    total = problem.needed.base_volume + sets @ problem.volumes
    with np.errstate(all="ignore"):
        if law is None:
            epochs = np.ones(len(sets))
        elif isinstance(law, LogDataLaw):
            epochs = law.a - law.b * np.log(total)
        elif isinstance(law, InverseLogDataLaw):
            epochs = law.a / np.log(1 + total)
        else:
            epochs = law.a * total**-law.p
        time = epochs * (problem.fixed_duration + sets @ problem.durations)
    time[(total == 0) & (law is not None)] = math.inf
    values = time + sets @ problem.transfers + problem.constant
    best = int(np.argmin(values))
    return float(values[best]), frozenset(np.flatnonzero(sets[best]).tolist())


def drawn(seed, count, largest=9, **options):
    rng = np.random.default_rng(seed)
    return [random_selection(rng, int(rng.integers(1, largest + 1)), **options) for _ in range(count)]


# --- what follows from an instance --------------------------------------------------------------------


def test_the_model_of_largest_demand_and_the_cluster_with_most_resources_are_assumed(steady):
    instance = steady.replace(
        clusters=(site("strong", 12, 9, 1), site("many", 5, 4, 1, nodes=4)),
        models=(model("small", 2, size=9), model("full", 2, 5, size=2)),
        datasets=(Dataset(name="rich", volume=4, work=8), Dataset(name="plain", volume=2)),
        transfers=transfers({("rich", "many"): 7, ("plain", "strong"): 99}),
        data_law=PowerDataLaw(p=0.5),
    )
    problem = selection_problem(instance)
    assert problem.durations.tolist() == [5 * 8 / 20, 5 * 2 / 20]
    assert problem.volumes.tolist() == [4, 2]
    assert problem.fixed_duration == 2 / 4
    for choice in ({0}, {1}, {0, 1}):
        expected = instance.learning_factor(frozenset({"rich", "plain"}))
        ratio = problem.needed.at(6.0) / problem.needed.at(problem.volumes[sorted(choice)].sum())
        names = frozenset(problem.names[place] for place in choice)
        assert ratio == pytest.approx(instance.learning_factor(names) / expected)


def test_tables_of_compute_take_the_epoch_and_the_model_with_most_work(steady):
    works = {"a": (1, 2, 3), "b": (10, 30, 20)}
    tables = tuple(ComputeTable(dataset=name, epochs=epochs) for name, epochs in works.items())
    each = model("each", 2, compute=tables)
    whole = model("whole", 2, compute=(ComputeTable(epochs=(50, 40, 60)),))
    instance = steady.replace(datasets=datasets(a=4, b=1), models=[each])
    assert selection_problem(instance).durations.tolist() == [0.2, 3.0]
    fixed = selection_problem(instance.replace(models=[each, whole]))
    assert fixed.durations.tolist() == [0, 0]
    assert fixed.fixed_duration == 0.5 + 6.0


def test_a_table_of_epochs_is_enumerated(steady):
    """K^ = 4, 3, 2 for {a}, {b}, both; tau = 0.8 a + 1.2 b with t0 = 0.5: 5.2, 5.1, 5.0."""
    instance = steady.replace(
        datasets=datasets(a=4, b=6),
        data_law=TableDataLaw(
            subsets=[
                SubsetEpochs(datasets=["a"], epochs=4),
                SubsetEpochs(datasets=["b"], epochs=3),
                SubsetEpochs(datasets=["b", "a"], epochs=2),
            ]
        ),
    )
    found = select_datasets(instance)
    assert found.rule is Rule.TABLE
    assert (found.datasets, found.value) == (("a", "b"), pytest.approx(5.0))
    problem = selection_problem(instance)
    assert isinstance(problem.needed, TabledEpochs)
    assert [problem.value(frozenset({place})) for place in (0, 1)] == pytest.approx([5.2, 5.1])
    for refused in (best_prefix, branch_and_bound, relaxed):
        with pytest.raises(NotCoveredError):
            refused(problem)
    with pytest.raises(InvalidInputError):
        problem.restricted(frozenset({0}), frozenset())


# --- K^ -----------------------------------------------------------------------------------------------


@given(st.floats(0.05, 20), st.floats(0.01, 30), st.sampled_from(LAWS))
def test_the_reciprocal_is_convex_where_the_rule_says_so(low, b, kind):
    law = {
        "log": LogDataLaw(a=b * (math.log(50) + 1), b=b),
        "inverse_log": InverseLogDataLaw(),
        "power": PowerDataLaw(p=b / 10),
    }[kind]
    needed = NeededEpochs(law)
    points = np.linspace(low, 50.0, 400)
    bends = np.diff(1 / needed.at(points), 2)
    if needed.reciprocal_is_convex(low):
        assert (bends >= -1e-9 * np.abs(1 / needed.at(points)).max()).all()
    else:
        assert (bends < 1e-9).any()


# --- rules against all subsets ------------------------------------------------------------------------


def test_every_selection_of_a_sample_is_the_best_of_all_sets():
    rules = Counter()
    rng = np.random.default_rng(555)
    not_submodular = [communicating_selection(rng, int(rng.integers(4, 9))) for _ in range(15)]
    for problems, priced in (
        (drawn(1, 20, priced=False) + not_submodular, False),
        (drawn(2, 20, priced=True), True),
    ):
        for problem in problems:
            least = best_of_all(problem)[0]
            found = select_datasets(problem)
            assert found.value == pytest.approx(least, rel=1e-11)
            assert found.optimal
            assert found.lower_bound <= least * (1 + 1e-12)
            rules[found.rule] += 1
            if not priced:
                below = best_of_all(problem, nonempty=False)[0]
                assert select_datasets(problem, nonempty=False).value == pytest.approx(below, rel=1e-11)
                assert relaxed(problem).bound <= below * (1 + 1e-12)
                assert relaxed(problem, least=problem.volumes.min()).bound <= least * (1 + 1e-12)
    assert min(rules[rule] for rule in (Rule.PREFIX, Rule.BRANCHING)) >= 4


def test_a_plain_prefix_is_not_enough_where_a_dataset_has_to_be_used():
    """The counterexample of the design: the best prefix costs 1.372, the other dataset alone 1.200."""
    law = LogDataLaw(a=1.3068, b=1.0)
    problem = selection_of_numbers(NeededEpochs(law), [1.0, 0.5], [1.0, 0.55], 0.05)
    assert density_order(problem).tolist() == [0, 1]
    prefixes = [problem.value(frozenset(range(count))) for count in (1, 2)]
    assert prefixes == pytest.approx([1.372, 1.442], abs=1e-3)
    found = select_datasets(problem)
    assert found.rule is Rule.PREFIX
    assert (found.datasets, found.value) == (("1",), pytest.approx(1.2, abs=1e-3))


# --- two exact methods for larger problems --------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [30, 200])
def test_branch_and_bound_equals_dynamic_programming_on_whole_volumes(law, size):
    rng = np.random.default_rng(size)
    for _ in range(2):
        volumes = rng.integers(1, 60, size).astype(float)
        needed = {
            "log": NeededEpochs(LogDataLaw(a=3 + math.log(volumes.sum()), b=1.0, base_volume=3.0)),
            "inverse_log": NeededEpochs(InverseLogDataLaw()),
            "power": NeededEpochs(PowerDataLaw(p=0.6)),
        }[law]
        durations = volumes * rng.uniform(0.3, 1.7, size)
        problem = selection_of_numbers(needed, volumes, durations, float(rng.uniform(0, 0.5) * volumes.sum()))
        found = branch_and_bound(problem)
        assert found.optimal
        assert found.value == pytest.approx(subset_sum(problem), rel=1e-11)


# --- bounds -------------------------------------------------------------------------------------------


def test_a_search_that_is_stopped_keeps_a_valid_bound_and_is_not_called_optimal():
    volumes = np.array([7.0, 7, 5, 5, 5, 3])  # no half: their best sums are near each other (PARTITION)
    half = volumes.sum() / 2
    problem = selection_of_numbers(
        NeededEpochs(InverseLogDataLaw()),
        volumes,
        volumes * (1 + 1e-6 * np.arange(6)),
        (1 + half) * math.log1p(half) - half,
    )
    stopped = select_datasets(problem, nodes=3)
    whole = select_datasets(problem)
    assert stopped.rule is Rule.NONE
    assert not stopped.optimal
    assert stopped.lower_bound < whole.value <= stopped.value
    with pytest.raises(InvalidInputError, match="at least 1"):
        select_datasets(problem, nodes=0)


# --- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (([0.0], [1.0], 0.0), "positive"),
        (([1.0], [-1.0], 0.0), "nonnegative"),
        (([1.0], [math.inf], 0.0), "finite"),
        (([1.0], [1.0], -1.0), "fixed_duration"),
        (([100.0], [1.0], 0.0), "K\\^ must be positive"),
    ],
)
def test_what_is_no_problem_is_refused(numbers, message):
    with pytest.raises(InvalidInputError, match=message):
        selection_of_numbers(NeededEpochs(LogDataLaw(a=4.0, b=1.0)), *numbers)


def test_what_is_not_covered_is_refused_in_words():
    (problem,) = drawn(8, 1, priced=True)
    many = random_selection(np.random.default_rng(8), MOST_LISTED + 1, priced=True)
    with pytest.raises(NotCoveredError, match=f"of {MOST_LISTED} datasets at most; not {MOST_LISTED + 1}"):
        select_datasets(many)
    with pytest.raises(NotCoveredError, match="list all sets"):
        branch_and_bound(problem)
    part = many.restricted(frozenset({0}), frozenset({2}))
    assert part.value(frozenset({0})) == pytest.approx(many.value(frozenset({0, 1})), rel=1e-14)
    for inside, outside in (({0}, {0}), ({99}, set()), (set(), {99})):
        with pytest.raises(InvalidInputError, match="must exist and be different"):
            many.restricted(frozenset(inside), frozenset(outside))
