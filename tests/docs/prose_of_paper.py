"""What the paper for a journal, ``paper.md``, says of measured results, from the records that hold it."""

from collections.abc import Iterator

from tests.docs.prose import Values


def paper_ratio(values: Values) -> Iterator[str]:
    assert values["depl_missed"] == values["depl_false_infeasible"] == values["depl_wrong_bounds"] == 0
    yield f"On {values['instances']} random instances drawn before anything was solved"
    yield f"{values['depl_compared']} optima are proved"
    assert values["depl_compared"] == values["proved_optimal"]
    mean, largest = values["depl_mean_ratio"], values["depl_largest_ratio"]
    yield f"costs {mean:.3f} times the optimum on average and {largest:.3f} times at most"
    bounded, mean, largest = (
        values[f"depl_unproved_{name}"]
        for name in ("compared", "mean_ratio_to_bound", "largest_ratio_to_bound")
    )
    yield f"On {bounded} others, where no optimum is known, it costs {mean:.2f} times the lower bound"
    yield f"and {largest:.2f} times at most. The loop"
    plans = values["depl_paper_found"] + values["depl_paper_missed"]
    mean = values["depl_paper_mean_ratio"]
    missed = f"misses {values['depl_paper_missed']} of the {plans} instances that have a plan"
    yield f"costs {mean:.1f} times the optimum on average where it finds a plan, and {missed}"


def paper_reach(values: Values) -> Iterator[str]:
    assert values["one_cluster_proved"] == values["whole_proved"] == 1
    assert values["disagreements"] == 0
    count = values["one_cluster_instances"] + values["whole_instances"]
    yield f"all {count} instances of another draw within {values['seconds_allowed']:.0f} s each"
    yield f"the enumeration of all plans on the {values['compared']} that it covers"


def paper_scale(values: Values) -> Iterator[str]:
    median, largest = (100 * values[f"full_{name}_gap"] for name in ("median", "largest"))
    yield f"the certified gaps are {median:.1f} % in the median and {largest:.1f} % at most"
    yield f"in at most {values['full_largest_seconds']:.0f} CPU seconds"
    assert values["full_median_gap"] > 0.01
    assert values["full_largest_gap"] > 0.03
    yield "the goals of 1 % and 3 % are missed"


def paper_knapsacks(values: Values) -> Iterator[str]:
    assert values["wrong"] == values["published_not_best"] == 0
    proved = values["published"] - values["published_not_proved"]
    yield f"All {values['published']} published knapsack optima are reached"
    yield f"{proved} of them proved within {values['seconds_allowed']:.0f} s"


def paper_labels(values: Values) -> Iterator[str]:
    assert values["peers_differ"] == 0
    highs, cspy = (values[f"median_times_faster_than_{name}"] for name in ("highs", "cspy"))
    yield f"is {highs:.0f} times faster than HiGHS on the arc-flow program"
    yield f"and {cspy:.0f} times faster than `cspy`"


def paper_submodular(values: Values) -> Iterator[str]:
    ratio = values["speed_ratio_median_with_certificates"]
    yield f"Minimum-norm search with its certificate is {ratio:.0f} times faster than a stabilised"
    assert values["false_claims"] == 0
    yield "no optimum is claimed on 500 functions that are not submodular"


def paper_promises(values: Values) -> Iterator[str]:
    careful = [item for item in values["rows"] if item["setting"] != "flattered"]
    flattered = [item for item in values["rows"] if item["setting"] == "flattered"]
    made = [item for item in careful if item["delivered"] is not None]
    assert {item["runs"] for item in made} == {200}
    assert all(item["p_value"] > 0.05 for item in made)
    assert (len(made), len(careful) - len(made)) == (9, 3)
    yield "nine promises were made with care and tested with 200 fresh runs each"
    yield "none is refuted at the 5 % level"
    yield "Three more could not be made"
    assert (sum(item["p_value"] < 0.05 for item in flattered), len(flattered)) == (3, 4)
    yield "of four promises made without a margin three were broken"


def paper_value(values: Values) -> Iterator[str]:
    assert values["value_mean_plans"] == values["value_repaired"] == values["value_proved_optimal"]
    missing, plans = values["value_mean_plans_missing"], values["value_mean_plans"]
    yield f"{missing} of {plans} plans of the mean-value problem certainly miss the promise"
    mean = values["value_repaired_mean_ratio"]
    largest = values["value_repaired_largest_ratio"]
    yield f"the {plans} cost {mean:.3f} times the optimum on average and {largest:.2f} times at most"
