"""Figures in prose are those of the committed records.

Each function below says in the words of a page what a record holds; the page has to say the same, wherever
its lines break. A record that is made anew makes this fail with the words to write. A page that names one
and is not here fails, too.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

from depl.benchmarks.measure.results import RESULTS, read
from tests.docs.prose import Values, percent, row
from tests.docs.prose_of_engines import (
    label_peers,
    risk_peers,
    submodular_peers,
)
from tests.docs.prose_of_loop import training_loop, training_loop_commands
from tests.docs.prose_of_paper import (
    paper_knapsacks,
    paper_labels,
    paper_promises,
    paper_ratio,
    paper_reach,
    paper_scale,
    paper_submodular,
    paper_value,
)
from tests.docs.prose_of_policies import (
    closed_loop,
    closed_loop_counted,
    closed_loop_table,
)
from tests.docs.prose_of_promises import (
    few_runs,
    few_runs_in_the_readme,
    honest_tests,
    promised_delivered,
    promises_in_the_readme,
    promises_kept,
    runs_per_plan,
)
from tests.docs.prose_of_value import price_curves, value_of_the_solution

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("digits", "cells")


def how_to_ratio(values: Values) -> Iterator[str]:
    yield (
        f"on {values['depl_compared']} proved optima: mean ratio {values['depl_mean_ratio']:.3f}, "
        f"largest {values['depl_largest_ratio']:.3f}"
    )
    assert values["depl_missed"] == values["depl_false_infeasible"] == 0
    yield "no feasible instance missed or called infeasible"
    left, denied = values["instances"] - values["depl_compared"], values["proved_infeasible"]
    assert values["depl_unproved_compared"] == values["unproved"]
    yield f"Of the other {left} of the {values['instances']} instances {denied} are proved infeasible"
    bounded = [values[f"depl_unproved_{name}_ratio_to_bound"] for name in ("mean", "largest")]
    yield f"{values['unproved']} have no proved optimum: there the ratio to the greatest lower bound is"
    yield f"{bounded[0]:.2f} on average and {bounded[1]:.2f} at most"


def questions_ratio(values: Values) -> Iterator[str]:
    yield f"for ``depl`` on {values['depl_compared']} proved optima of random instances"
    mean, largest = values["depl_mean_ratio"], values["depl_largest_ratio"]
    yield f"a mean ratio of {mean:.3f} and a largest of {largest:.3f}"
    share = percent(values["optima_with_less_data_or_more_clusters_share"])
    yield f"Of the optima of the random family {share} leave data out or use several clusters"
    yield f"``depl-paper`` costs {values['depl_paper_mean_ratio']:.1f} times the optimum on average"
    plans = values["depl_paper_found"] + values["depl_paper_missed"]
    yield f"misses {values['depl_paper_missed']} of the {plans} instances that have a plan"


def questions_placement(values: Values) -> Iterator[str]:
    yield f"in the time of a thousand epochs (factor {values['million_to_thousand_seconds']:.2f})"
    yield f"placements {percent(values['small_two_cluster_share'])} use several clusters at the optimum"


def loop_reach(values: Values) -> Iterator[str]:
    proved, gaps = values["reach_proved_by_size"], values["reach_median_gap_of_the_loop_by_size"]
    assert set(values["reach_drawn_by_size"].values()) == {5}
    assert proved["2x2x3x10"] == 5
    yield f"whose bound by the loop alone is {percent(gaps['2x2x3x10'])} below the optimum in the median"
    yield f"for {proved['3x3x3x10']} of 5 with three clusters and three datasets"
    yield f"for {proved['2x2x3x20']} of 5 with two of each and 20 epochs"
    assert max(proved[size] for size in ("3x3x3x20", "5x5x3x10", "2x2x3x40")) <= 1
    yield f"Within {values['reach_limit']:.0f} s"


def questions_labels(values: Values) -> Iterator[str]:
    assert values["large_most_seconds_to_one_percent"] < 1
    yield "models for 1000 epochs out of 50 are chosen to a certified 1 % within a second"


def questions_graph(values: Values) -> Iterator[str]:
    missed = percent(values["worst_share_missed_at_eta_200"])
    yield f"at its η = 200 it misses {missed} of feasible instances with 100 epochs"


def questions_sets(values: Values) -> Iterator[str]:
    rows = values["comparisons"]
    smaller = sum(item["mean_after"] < item["mean_before"] for item in rows)
    certain = sum(item["mean_verdict"] == "smaller" for item in rows)
    yield f"smaller on average in {smaller} of {len(rows)} comparisons, by more than chance in {certain}"


def graph_curves(values: Values) -> Iterator[str]:
    shown = [item for item in values["curves"] if item["eta"] in (50, 200, 800, 1600)]
    for item in shown:
        ups = ("--", "--") if item["up_mean"] is None else (f"{item['up_mean']:.3f}", f"{item['up_max']:.3f}")
        downs = (f"{item['down_mean']:.3f}", f"{item['down_min']:.3f}")
        yield row(item["epochs"], item["eta"], percent(item["missed"]), *ups, *downs)
    missed = [f"{100 * item['missed']:.0f}" for item in shown if item["eta"] == 200]
    shown_missed = "{}, {} and {} %".format(*missed)
    yield f"the graph misses {shown_missed} of the feasible instances with 20, 50 and 100 epochs"


def reach_of_exact(values: Values) -> Iterator[str]:
    assert values["one_cluster_proved"] == values["whole_proved"] == 1
    counts = [values[f"{name}_instances"] for name in ("one_cluster", "whole")]
    yield f"all of {counts[0]} random instances with three models, one cluster and at most 30 epochs"
    yield f"and of {counts[1]} of the complete problem with up to three models, clusters and datasets"
    yield f"each within {values['seconds_allowed']:.0f} s"


def reach_on_samples(values: Values) -> Iterator[str]:
    usual, cheap = values["largest_usual"], values["largest_cheap"]
    one, two = usual["scenario-search"], cheap["scenario-search"]
    yield f"{one} epochs where switches cost, {two} where they are cheap"
    yield f"the same: {usual['milp']} and {cheap['milp']} epochs"


def shares_of_broken(values: Values) -> Iterator[str]:
    yield row("*S*", *values["broken_share_by_size"])
    yield row("share", *map(percent, values["broken_share_by_size"].values()))


def set_sizes(values: Values) -> Iterator[str]:
    rows = values["comparisons"]
    for family in ("digits-alexnet", "digits-mobilenet", "cells-perceptron"):
        own = [item for item in rows if item["family"] == family]
        told = []
        for kind in ("mean", "upper"):
            fall = [100 * (1 - item[f"{kind}_after"] / item[f"{kind}_before"]) for item in own]
            told.append(f"{min(fall):.0f}, {median(fall):.0f}, {max(fall):.0f} %")
            told.append(f"{sum(item[f'{kind}_verdict'] == 'smaller' for item in own)} of {len(own)}")
        yield row(family, len(own), told[0], told[1], f"{told[2]}; {told[3]}")
    certain = sum(item["mean_verdict"] == "smaller" for item in rows)
    yield f"in all {len(rows)} comparisons, by more than chance in {certain}, and never larger"
    upper = sum(item["upper_verdict"] == "smaller" for item in rows)
    yield f"with 60 runs {upper} of {len(rows)} intervals lie below zero"
    reached = [100 * item["expected_reached"] for item in rows]
    yield f"a median of {median(reached):.0f} % of the runs ({min(reached):.0f} to {max(reached):.0f} %)"
    yield f"dependable training in {100 * median(item['dependable_reached'] for item in rows):.0f} %"
    times = [item["dependable_epochs"] / item["expected_epochs"] for item in rows]
    yield f"with {min(times):.2f} to {max(times):.1f} times the epochs (median {median(times):.1f})"
    different = sum(item["different"] for item in values["equal_work"])
    amounts = sum(item["amounts"] for item in values["equal_work"])
    one = sum(item["different_plan"] for item in values["equal_work"])
    assert one == 1
    yield f"the plans differ at one of {amounts} amounts, the epochs at {different}"
    change = [f"{100 * item['relative_change']:.1f} %" for item in values["equal_work"]]
    yield f"set sizes change by +{change[0]}, +{change[1]} and {change[2]}"


def what_is_beside_set_sizes(values: Values) -> Iterator[str]:
    """Correlations, the worst tenth, coverage, and how often the promise was kept."""
    groups = {name: [item for item in values["associations"] if name in item["family"]] for name in KINDS}
    told = {
        name: {key: [item[key] for item in items] for key in ("correlation", "worst_tenth", "coverage")}
        for name, items in groups.items()
    }
    digits, cells = (told[name] for name in KINDS)
    spans = [f"{min(item['correlation']):.2f} to {max(item['correlation']):.2f}" for item in (digits, cells)]
    yield f"the correlation is {spans[0]} for digits and {spans[1]} for cells"
    tenths = [(min(item["worst_tenth"]), max(item["worst_tenth"])) for item in (digits, cells)]
    yield f"has {tenths[0][0]:.1f} to {tenths[0][1]:.1f} times the set size of the others for digits"
    yield f"and {tenths[1][0]:.2f} to {tenths[1][1]:.2f} times for cells"
    yield f"coverage is {min(digits['coverage']):.4f} and {min(cells['coverage']):.4f} in all plans"
    rows = values["comparisons"]
    kept = sorted((item["dependable_reached"], item["chosen_on"]) for item in rows)
    assert [runs for share, runs in kept if share < 0.9] == [26]
    worst, others = kept[0][0], [share for share, _ in kept[1:]]
    yield f"once in {percent(worst)}, otherwise in {100 * min(others):.0f} to {100 * max(others):.0f} %"


def published_knapsacks(values: Values) -> Iterator[str]:
    assert values["wrong"] == values["published_not_best"] == values["small_not_proved"] == 0
    assert values["thousand_not_proved"] == values["large_not_proved"] == 0
    proved = values["published"] - values["published_not_proved"]
    yield f"All {values['published']} published optima are reached, {proved} of them proved within 60 s"
    yield f"so are all {values['small']} with 50, 100 and 200 items of thirteen families"
    easy = values["thousand"] + values["large"]
    yield f"all {easy} uncorrelated and weakly correlated ones with 1000 and 10,000 items"
    hard = values["hard"] - values["hard_not_proved"]
    yield f"of the other families with 1000 items {hard} of {values['hard']} in a quarter of that time"
    near = values["plans"] - values["near_later"]
    yield f"After a second {near} of all {values['plans']} plans are within 1 % of the optimum"


def chance_knapsacks(values: Values) -> Iterator[str]:
    assert values["chance_wrong"] == 0
    for items in ("100", "200", "500", "1000"):
        count = values["chance_knapsacks"][items]
        proved = count - values["chance_not_proved"][items]
        seconds = values["chance_longest_seconds"][items]
        yield f"of {items} items {proved} of {count}, the longest in {seconds:.0f} CPU-s"
    yield f"the largest gap, 5000 items in 10 s included, is {100 * values['chance_largest_gap']:.2g} %"


def outside_knapsacks(values: Values) -> Iterator[str]:
    assert values["peers_wrong"] == 0
    counts, proved, ratio = values["peers_knapsacks"], values["peers_proved"], values["peers_ratio"]
    assert proved == counts
    total = sum(counts.values())
    yield f"{total} knapsacks were solved by depl"
    yield f"proved all {total}"
    yield f"{values['peers_published']} published optima"
    yield f"takes {ratio['normal-weights']['scip']:.0f} times as long"
    ordinary = ratio["ordinary"]
    yield f"HiGHS takes {ordinary['highs']:.2g} of"
    yield f"SCIP {ordinary['scip']:.2g} and the branch and bound of OR-tools {ordinary['or-tools']:.2g}"
    yield f"it proved {values['peers_proved_by']['ordinary']['or-tools']} of {counts['ordinary']} in 20 s"
    yield f"takes {ratio['normal-weights']['label-setting']:.2g}."


PROSE: list[tuple[str, str, Callable[[Values], Iterator[str]]]] = [
    ("README.md", "promises-kept", promises_in_the_readme),
    ("README.md", "promises-held-out", few_runs_in_the_readme),
    ("docs/estimation.rst", "estimation-tests", honest_tests),
    ("docs/engines.rst", "graph", label_peers),
    ("docs/engines.rst", "risk-speed", risk_peers),
    ("docs/engines.rst", "data", submodular_peers),
    ("docs/estimation.rst", "promises-held-out", promised_delivered),
    ("docs/estimation.rst", "promises-kept", promises_kept),
    ("docs/estimation.rst", "promises-held-out", few_runs),
    ("docs/estimation.rst", "promises-held-out", runs_per_plan),
    ("docs/howto/ground_truth.rst", "exact-law", reach_of_exact),
    ("docs/howto/ground_truth.rst", "samples", reach_on_samples),
    ("docs/howto/ratio.rst", "ratios", how_to_ratio),
    ("docs/howto/ratio.rst", "ratios", price_curves),
    ("docs/howto/ratio.rst", "ratios", value_of_the_solution),
    ("docs/loop.rst", "default", loop_reach),
    ("docs/model_selection.rst", "graph", graph_curves),
    ("docs/policies_measured.rst", "closed-loop", closed_loop),
    ("docs/policies_measured.rst", "closed-loop", closed_loop_table),
    ("docs/policies_measured.rst", "closed-loop", closed_loop_counted),
    ("docs/prediction_sets.rst", "prediction-sets", set_sizes),
    ("docs/prediction_sets.rst", "prediction-sets", what_is_beside_set_sizes),
    ("docs/questions.rst", "ratios", questions_ratio),
    ("docs/questions.rst", "graph", questions_graph),
    ("docs/questions.rst", "graph", questions_labels),
    ("docs/questions.rst", "placement", questions_placement),
    ("docs/questions.rst", "prediction-sets", questions_sets),
    ("docs/reductions.rst", "knapsacks", chance_knapsacks),
    ("docs/reductions.rst", "knapsacks", outside_knapsacks),
    ("docs/reductions.rst", "knapsacks", published_knapsacks),
    ("docs/scenarios.rst", "samples", shares_of_broken),
    ("docs/training_loop.rst", "training-loop", training_loop),
    ("docs/training_loop.rst", "training-loop", training_loop_commands),
    ("paper.md", "ratios", paper_ratio),
    ("paper.md", "exact-law", paper_reach),
    ("paper.md", "knapsacks", paper_knapsacks),
    ("paper.md", "graph", paper_labels),
    ("paper.md", "promises-kept", paper_promises),
    ("paper.md", "scale", paper_scale),
    ("paper.md", "ratios", paper_value),
    ("paper.md", "data", paper_submodular),
]

ELSEWHERE = {
    # Compared by tests/docs/test_readme.py.
    *(("README.md", case) for case in ("default", "exact-law")),
    ("README.md", "first-path"),
    *(("README.md", case) for case in ("samples", "scale")),
    # Named as what measures, without a figure.
    ("docs/dataset_selection.rst", "data"),
    ("docs/loop.rst", "ratios"),
    ("docs/model_selection.rst", "graph"),
    ("docs/traces.rst", "closed-loop"),  # a page
    ("docs/questions.rst", "scale"),
    # the page quotes what these cases refuse, no figure of theirs
    *(("docs/refusals.rst", case) for case in ("graph", "promises-held-out", "risk-speed")),
}


DURATIONS = {
    # minutes by the clock, or of the processor, in the words of the page
    ("docs/howto/ratio.rst", "ratios", "wall_seconds"): (50, 70, "it takes an hour on two cores"),
    ("docs/prediction_sets.rst", "prediction-sets", "cpu_seconds"): (3, 4, "some three minutes of one core"),
}

WORDS = {"data", "default", "graph", "placement", "ratios", "samples", "scale"}
"""Records whose names stand for something else, too: on a page they are named as records."""


@pytest.mark.parametrize(("page", "case", "clock"), DURATIONS)
def test_a_page_says_how_long_a_case_took(page, case, clock):
    least, most, words = DURATIONS[page, case, clock]
    assert least <= getattr(read(RESULTS / f"{case}.json"), clock) / 60 <= most
    assert words in words_of(page)


def words_of(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("page", "case", "told"), PROSE, ids=[f"{page}-{told.__name__}" for page, _, told in PROSE]
)
def test_a_page_says_what_the_record_holds(page, case, told):
    text = words_of(page)
    missing = [words for words in told(read(RESULTS / f"{case}.json").values) if words not in text]
    assert not missing, f"{page} should say so, by the record {case}"


def test_every_page_that_names_a_record_is_compared_with_it():
    cases = sorted(path.stem for path in RESULTS.glob("*.json"))
    named = set()
    for path in (ROOT / "README.md", ROOT / "paper.md", *(ROOT / "docs").rglob("*.rst")):
        text = path.read_text(encoding="utf-8")
        for case in cases:
            names = (
                rf"\brecords?\b[^.]{{,80}}`{case}`" if case in WORDS else f"`{case}`",
                rf"run {case}\b",
                rf"results/{case}\.json",
                rf"studies\.{case.replace('-', '_')}`",
            )
            if re.search("|".join(names), text):
                named.add((path.relative_to(ROOT).as_posix(), case))
    assert named == {(page, case) for page, case, _ in PROSE} | ELSEWHERE


def test_a_figure_that_is_stale_is_found():
    values = dict(read(RESULTS / "ratios.json").values)
    values["depl_compared"] += 5
    assert [words for words in how_to_ratio(values) if words not in words_of("docs/howto/ratio.rst")]
