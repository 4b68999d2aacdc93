"""The table of ratios: its lines, its columns, and CSV and frames of the same numbers."""

import csv
import io
import random
import sys

import numpy as np
import pytest

from depl.benchmarks.analysis.order import configurations, natural, ordered
from depl.benchmarks.analysis.ratio_table import ratio_table, reference_table
from depl.benchmarks.analysis.table import Table, table_of
from depl.benchmarks.analysis.tally import Fate
from depl.models.foundation.errors import InvalidInputError
from tests.cases.attempts_factory import attempt_of


def sweep():
    """Three instances of two groups; ``fast`` misses the last, ``exact`` proves all but the middle one."""
    found = []
    for instance, group, optimum, proved in (
        ("i-1", "a", 10, True),
        ("i-2", "a", 4, False),
        ("i-10", "b", 6, True),
    ):
        ending = "optimal" if proved else "time_limit"
        found.append(
            attempt_of(
                instance,
                "exact",
                cost=optimum,
                bound=optimum if proved else 2,
                ending=ending,
                labels={"group": group},
            )
        )
        cost = None if instance == "i-10" else 1.5 * optimum
        found.append(attempt_of(instance, "fast", cost=cost, labels={"group": group}))
    return found


def test_lines_are_by_suite_group_and_configuration():
    table = ratio_table(sweep(), by=("group",))
    keys = [(row["group"], row["configuration"]) for row in table.records()]
    assert keys == [("a", "exact"), ("a", "fast"), ("b", "exact"), ("b", "fast")]


def test_figures_of_a_line_are_those_of_its_instances():
    exact, fast = ratio_table(sweep()).records()
    assert (exact["attempts"], exact["compared"], exact["bounded"], exact["mean"]) == (3, 2, 1, 1.0)
    assert exact["bound_mean"] == 2.0
    assert (fast["compared"], fast["bounded"], fast["missed"]) == (1, 1, 1)
    assert fast["mean"] == 1.5
    assert fast["bound_mean"] == 3.0
    assert exact["at_limit"] == 1


def test_the_fates_of_every_line_add_up():
    for row in ratio_table(sweep(), by=("group",)).records():
        assert sum(row[fate.value] for fate in Fate) == row["attempts"]


def test_the_order_in_which_attempts_ended_changes_nothing():
    attempts = sweep()
    shuffled = random.Random(1).sample(attempts, len(attempts))
    assert ratio_table(shuffled).csv() == ratio_table(attempts).csv()
    assert reference_table(shuffled) == reference_table(attempts)


def test_configurations_stand_as_in_their_suite_and_unknown_ones_by_name():
    attempts = [
        attempt_of("x", label, suite=suite)
        for suite in ("paper", "made-up")
        for label in ("zz", "depl", "exact", "aa")
    ]
    assert configurations(attempts, "paper") == ["exact", "depl", "aa", "zz"]
    assert configurations(attempts, "made-up") == ["aa", "depl", "exact", "zz"]
    assert [item.task.configuration for item in ordered(attempts)] == [
        *("aa", "depl", "exact", "zz"),
        *("exact", "depl", "aa", "zz"),
    ]


def test_numbers_in_names_sort_as_numbers():
    assert sorted(["a-13", "a-9", "a-9.5", "a"], key=natural) == ["a", "a-9", "a-9.5", "a-13"]


def test_references_name_optimum_and_prover():
    rows = {row["instance"]: row for row in reference_table(sweep()).records()}
    assert list(rows) == ["i-1", "i-2", "i-10"]
    assert (rows["i-1"]["optimum"], rows["i-1"]["proved_by"]) == (10, "exact")
    assert (rows["i-2"]["optimum"], rows["i-2"]["bound"], rows["i-2"]["cheapest"]) == (None, 2, 4)


def test_no_attempts_give_a_table_without_lines():
    assert ratio_table([]).columns == ratio_table(sweep()).columns
    assert reference_table([]).columns == reference_table(sweep()).columns
    assert ratio_table([]).rows == ()


def test_intervals_need_two_instances_and_contain_the_mean():
    attempts = []
    for index, excess in enumerate(np.random.default_rng(0).random(12)):
        attempts.append(attempt_of(f"i{index}", "exact", cost=1.0, ending="optimal"))
        attempts.append(attempt_of(f"i{index}", "fast", cost=1 + excess))
    exact, fast = ratio_table(attempts).records()
    assert exact["mean_lower"] == exact["mean"] == exact["mean_upper"] == 1
    assert fast["mean_lower"] < fast["mean"] < fast["mean_upper"]
    (single, _) = ratio_table(attempts[:2]).records()
    assert single["mean_lower"] is None


def test_csv_reads_back_and_nothing_is_an_empty_field(tmp_path):
    table = Table(("name", "value"), (("a,b", 1.5), ('say "no"', None)))
    table.write(tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text()
    assert text == table.csv()
    assert list(csv.reader(io.StringIO(text))) == [["name", "value"], ["a,b", "1.5"], ['say "no"', ""]]


def test_a_frame_holds_the_same_numbers():
    frame = ratio_table(sweep()).frame()
    assert frame["configuration"].tolist() == ["exact", "fast"]
    assert frame["mean"].tolist() == [1.0, 1.5]


def test_without_pandas_a_frame_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'depl\[tables\]'"):
        Table(("a",)).frame()


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match="has 1 values"):
        Table(("a", "b"), (("x",),))
    with pytest.raises(InvalidInputError, match="must differ"):
        Table(("a", "a"))
    with pytest.raises(InvalidInputError, match=r"records\[1\]"):
        table_of([{"a": 1}, {"b": 1}])
    with pytest.raises(InvalidInputError, match="no column 'z'"):
        Table(("a",)).column("z")
    assert Table(("a", "b"), ((1, 2), (3, 4))).column("b") == (2, 4)
