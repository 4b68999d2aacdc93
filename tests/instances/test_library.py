"""Shipped instances say what they claim to say; names, aliases, targets and files are found or refused."""

import functools
import itertools
import json
import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from scipy import stats

from depl.instances import library
from depl.instances.library import Family, describe, load, names, parse, strip_comments
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import load as epoch_load
from depl.models.problem.laws import Forbidden, InverseGamma, StudentT, Zero

TARGETS = ("5", "7", "9", "11", "13")
TABLE = {  # Table I: expected loss improvement, its variance, normalised needed resources
    "alexnet": {
        "fast-unsteady": (1.02, 0.031, 2.6),
        "intermediate": (1.00, 0.010, 1.4),
        "slow-steady": (0.98, 0.007, 1),
    },
    "mobilenet": {
        "fast-unsteady": (1.02, 0.029, 1.8),
        "intermediate": (0.95, 0.012, 1.0),
        "slow-steady": (0.92, 0.006, 0.6),
    },
}
PRINTED = {  # everything else that the text of Sec. VI-B prints
    "$.clusters[0].capacity": {100},
    "$.clusters[0].unit_cost": {1},
    "$.clusters[1].capacity": {50},
    "$.clusters[1].unit_cost": {1.2},
    "$.target.quantile_level": {0.99},
    "$.target.maximum_loss": {5, 9, 13},
}
DEADLINE = {  # target: cost and epochs (fast, intermediate, slow) of the optimum, design page 7
    "5": (202.68, (5, 6, 20)),
    "7": (182.96, (2, 6, 19)),
    "9": (137.84, (1, 4, 18)),
    "11": (91.32, (3, 6, 9)),
    "13": (76.63, (2, 5, 7)),
}
DEADLINE_NORMAL = {"5": 220.94, "7": 198.56, "9": 144.13, "11": 101.71, "13": 94.40}


def every_instance():
    return [(entry.name, target) for entry in describe() for target in entry.targets or (None,)]


def leaves(value, path="$"):
    """(path, number) of every number in a JSON value, the document's version aside."""
    if isinstance(value, dict):
        for key, item in value.items():
            if (path, key) not in {("$", "version"), ("$", "provenance")}:
                yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    elif isinstance(value, int | float):
        yield path, value


def source(sources, path):
    """That of the longest path that covers ``path``."""
    ends = [len(path), *(place for place in range(len(path) - 1, 0, -1) if path[place] in ".[")]
    found = [sources[path[:end]] for end in ends if path[:end] in sources]
    assert found, f"{path} has no provenance"
    return found[0]


shipped = functools.cache(load)


@functools.cache
def numbers(name, target):
    """(path, number, source) of every number of a shipped instance."""
    instance = shipped(name, target)
    sources = {row.path: row.source for row in instance.provenance}
    assert len(sources) == len(instance.provenance)
    return [(path, value, source(sources, path)) for path, value in leaves(msgspec.to_builtins(instance))]


def refused(*arguments):
    with pytest.raises(InvalidInputError) as caught:
        load(*arguments)
    return str(caught.value)


def test_the_families_of_the_paper_the_fitted_instances_and_the_tiny_one_are_shipped():
    assert names() == (
        "digits-alexnet",
        "digits-mobilenet",
        "paper-alexnet",
        "paper-alexnet-deadline",
        "paper-alexnet-deadline-normal",
        "paper-alexnet-switching",
        "paper-mobilenet",
        "tiny",
    )
    assert {entry.name: entry.targets for entry in describe()} == {
        name: TARGETS if name.startswith("paper") else () for name in names()
    }


@pytest.mark.parametrize("entry", describe(), ids=lambda entry: entry.name)
def test_every_summary_is_one_sentence_that_fits_a_line(entry):
    assert entry.summary.endswith(".")
    assert "\n" not in entry.summary
    assert len(entry.summary) <= 110


@pytest.mark.parametrize(("name", "target"), every_instance())
def test_every_shipped_instance_survives_its_own_json(name, target):
    instance = shipped(name, target)
    again = parse(instance.to_json())
    assert again == instance
    assert again.fingerprint == instance.fingerprint


@pytest.mark.parametrize(("name", "target"), every_instance())
def test_every_number_of_every_shipped_instance_has_a_provenance(name, target):
    assert len(numbers(name, target)) > 10


@pytest.mark.parametrize(("name", "target"), every_instance())
def test_every_number_flagged_paper_is_printed_in_the_paper(name, target):
    instance = shipped(name, target)
    table = TABLE["mobilenet" if "mobilenet" in name else "alexnet"]
    flagged = {path: value for path, value, flag in numbers(name, target) if flag == "paper"}
    for path, value in flagged.items():
        if path.startswith("$.models["):
            model = instance.models[int(path[len("$.models[")])]
            column = ("mean", "variance", "demand").index(path.rpartition(".")[2])
            assert value == table[model.name][column], path
        else:
            assert value in PRINTED[path], path
    assert len(flagged) >= 10 if name.startswith("paper") else not flagged


def test_targets_that_the_text_does_not_print_are_flagged_as_assumed():
    for name in filter(lambda name: name.startswith("paper"), names()):
        flags = {
            target: flag
            for target in TARGETS
            for path, _, flag in numbers(name, target)
            if path == "$.target.maximum_loss"
        }
        assert flags == {"5": "paper", "7": "assumed", "9": "paper", "11": "assumed", "13": "paper"}


@pytest.mark.parametrize("network", ["alexnet", "mobilenet"])
def test_an_epoch_of_the_plain_families_costs_unit_cost_times_needed_resources(network):
    instance = load(f"paper-{network}", 9)
    everything = frozenset(dataset.name for dataset in instance.datasets)
    for model, cluster in itertools.product(instance.models, instance.clusters):
        mean, variance, needed = TABLE[network][model.name]
        assert model.improvement.at(7) == (1, InverseGamma(mean=mean, variance=variance))
        demand = epoch_load(instance, 1, model.name, cluster.name, everything)
        least = demand.work / (instance.target.round_deadline - demand.communication)
        assert least <= demand.capacity
        assert demand.price * least == cluster.unit_cost * needed
    assert instance.target.maximum_time is None


@pytest.mark.parametrize(("network", "most_expensive_optimum"), [("alexnet", 17), ("mobilenet", 10.8)])
def test_the_epoch_limit_of_the_plain_families_never_binds(network, most_expensive_optimum):
    instance = load(f"paper-{network}", 5)
    cheapest_epoch = min(needed for _, _, needed in TABLE[network].values())
    assert cheapest_epoch * (instance.target.maximum_epochs + 1) > most_expensive_optimum


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("paper")])
def test_only_a_more_pruned_model_may_follow_unless_the_family_switches(name):
    instance = load(name, 5)
    for (i, first), (j, second) in itertools.permutations(enumerate(instance.models), 2):
        law = instance.switch_law(first.name, second.name)
        if name == "paper-alexnet-switching":
            assert isinstance(law, StudentT)
            assert law.moments() == pytest.approx((0.3, 0.01), rel=1e-12)
        else:
            assert isinstance(law, Zero if i < j else Forbidden)


@pytest.mark.parametrize("name", ["paper-alexnet-deadline", "paper-alexnet-deadline-normal"])
def test_the_decay_of_the_deadline_families_has_mean_one_over_thirty_epochs(name):
    instance = load(name, 5)
    for model in instance.models:
        coefficients = [model.improvement.at(epoch)[0] for epoch in range(1, 31)]
        assert math.fsum(coefficients) / 30 == pytest.approx(1, rel=1e-14)
        mean, variance, needed = TABLE["alexnet"][model.name]
        assert model.improvement.noise.moments() == (mean / 2, variance)
        assert model.demand == needed
    longest = int(instance.target.maximum_time / (instance.models[0].size / instance.clusters[0].bandwidth))
    assert instance.target.maximum_epochs == longest


@pytest.mark.parametrize("target", TARGETS)
def test_the_known_plans_of_the_deadline_family_cost_what_was_measured(target):
    cost, counts = DEADLINE[target]
    assert deadline_cost(load("paper-alexnet-deadline", target), counts) == pytest.approx(cost, abs=0.005)


@pytest.mark.parametrize("target", TARGETS)
def test_the_normal_deadline_family_has_the_known_optima_by_exhaustion(target):
    instance = load("paper-alexnet-deadline-normal", target)
    longest, level = instance.target.maximum_epochs, instance.target.quantile_level
    means, variances = np.zeros((3, longest + 1)), np.zeros((3, longest + 1))
    for row, model in enumerate(instance.models):
        for epoch in range(1, longest + 1):
            coefficient, noise = model.improvement.at(epoch)
            means[row, epoch] = coefficient * noise.mean
            variances[row, epoch] = coefficient**2 * noise.variance
    means, variances = means.cumsum(axis=1), variances.cumsum(axis=1)
    needed = instance.target.initial_loss - instance.target.maximum_loss
    counts = np.indices((longest + 1,) * 3).reshape(3, -1)
    total = counts.sum(axis=0)
    counts = counts[:, (total > 0) & (total <= longest) & (0.9 * total < instance.target.maximum_time)]
    a, b, c = counts.cumsum(axis=0)
    mean, variance = (t[0, a] + t[1, b] - t[1, a] + t[2, c] - t[2, b] for t in (means, variances))
    met = stats.norm.ppf(1 - level) * np.sqrt(variance) + mean >= needed
    best = min(deadline_cost(instance, row) for row in counts[:, met].T.tolist())
    assert best == pytest.approx(DEADLINE_NORMAL[target], abs=0.006)


def deadline_cost(instance, counts):
    """Closed form on cluster A, whose capacity is far from binding."""
    communication = 0.9 * sum(counts)
    root = sum(count * math.sqrt(model.demand) for count, model in zip(counts, instance.models, strict=True))
    return root**2 / (instance.target.maximum_time - communication)


def tiny_plans(instance):
    """Every discrete plan of the tiny instance: cost without clipping (a lower bound), probability, plan."""
    subsets = [("archive",), ("sensors",), ("archive", "sensors")]
    options = list(itertools.product(instance.models, instance.clusters))
    for length in range(1, instance.target.maximum_epochs + 1):
        for epochs in itertools.product(options, repeat=length):
            models = [model.name for model, _ in epochs]
            if ("pruned", "full") in itertools.pairwise(models):
                continue
            used = sorted({cluster.name for _, cluster in epochs})
            for chosen in itertools.product(subsets, repeat=len(used)):
                data = dict(zip(used, chosen, strict=True))
                yield (
                    tiny_cost(instance, epochs, data),
                    tiny_probability(instance, epochs, data),
                    (epochs, data),
                )


def tiny_cost(instance, epochs, data):
    left = instance.target.maximum_time - sum(model.size / cluster.bandwidth for model, cluster in epochs)
    if left <= 0:
        return math.inf
    root = sum(
        math.sqrt(cluster.unit_cost * model.demand * len(data[cluster.name])) for model, cluster in epochs
    )
    return root**2 / left + sum(instance.transfer_cost(item, place) for place in data for item in data[place])


def tiny_probability(instance, epochs, data):
    outcomes = [Fraction(0)]  # equally likely gains
    for k, (model, cluster) in enumerate(epochs):
        noise = model.improvement.noise
        values = noise.values if model.name == "full" else (noise.value,)
        gains = [Fraction(len(data[cluster.name]), 2) * Fraction(value) for value in values]
        if k and epochs[k - 1][0].name != model.name:
            losses = instance.switch_law("full", "pruned").values
            gains = [gain - Fraction(loss) for gain in gains for loss in losses]
        outcomes = [total + gain for total in outcomes for gain in gains]
    needed = Fraction(instance.target.initial_loss) - Fraction(instance.target.maximum_loss)
    return Fraction(sum(gain >= needed for gain in outcomes), len(outcomes))


def test_the_hand_calculation_of_the_tiny_instance_is_right():
    instance = load("tiny")
    plans = list(tiny_plans(instance))
    feasible = sorted((plan for plan in plans if plan[1] >= Fraction(7, 10)), key=lambda plan: plan[0])
    cost, probability, (epochs, data) = feasible[0]
    assert cost == pytest.approx(28, rel=1e-14)
    assert probability == Fraction(3, 4)
    assert [(m.name, c.name) for m, c in epochs] == [("full", "cloud"), ("full", "cloud"), ("pruned", "edge")]
    assert data == {"cloud": ("archive", "sensors"), "edge": ("sensors",)}
    resources = 9 / 3  # below every capacity, so that nothing is clipped
    assert all(cluster.capacity >= resources for cluster in instance.clusters)
    assert feasible[1][0] == pytest.approx(30)
    costs = [cost for cost, _, _ in feasible]
    for figure in (32.27, 45.31, 42.14, 37.64, 39.65, 50):
        assert any(abs(cost - figure) <= 0.005 for cost in costs), figure
    averages = [
        (cost, p) for cost, p, (e, _) in plans if [m.name for m, _ in e] == ["full", "pruned", "pruned"]
    ]
    assert any(abs(cost - 24.31) <= 0.005 and p == Fraction(1, 2) for cost, p in averages)


def test_an_alias_carries_its_target():
    assert load("paper-alexnet-9") == load("paper-alexnet", 9) == load("paper-alexnet", "9.0")
    assert load("paper-alexnet-9").name == "paper-alexnet-9"
    assert load("paper-alexnet-deadline-normal-13").target.maximum_time == 16
    assert load("paper-alexnet-9", 9.0) == load("paper-alexnet-9")


def test_a_single_instance_needs_no_target_and_takes_any():
    loose = load("tiny", 7.25)
    assert loose.target.maximum_loss == 7.25
    assert loose.name == "tiny-7.25"
    assert loose.fingerprint == load("tiny").replace(maximum_loss=7.25).fingerprint
    assert load("tiny-7.25") == loose


def test_unknown_names_are_answered_with_the_close_ones():
    assert "'paper-alexnet'" in refused("paper-alexent")
    assert "known are digits-alexnet, digits-mobilenet, paper-alexnet, " in refused("zzz")


def test_missing_and_wrong_targets_are_answered_with_those_that_exist():
    assert "targets 5, 7, 9, 11, 13" in refused("paper-alexnet")
    assert "there is no target 8" in refused("paper-alexnet", 8)
    assert "targets 5, 7, 9, 11, 13" in refused("paper-alexnet-8")
    assert "give one of them" in refused("paper-alexnet-9", 7)
    assert "finite number" in refused("paper-alexnet", "tight")
    assert "finite number" in refused("tiny", math.nan)


def test_files_are_read_by_path_and_refused_with_it(tmp_path):
    path = tmp_path / "mine.json"
    assert str(path) in refused(path)
    assert str(tmp_path) in refused(str(tmp_path))
    path.write_text("// a comment\n" + load("tiny").to_json())
    assert load(path) == load(str(path)) == load("tiny")
    path.write_text('{"format": "depl-plan", "version": 1}')
    assert "'depl-plan'" in refused(path)
    path.write_text('{"format": "depl-family", "version": 2}')
    assert "$.version" in refused(path)
    path.write_text('["a list"]')
    assert "object" in refused(path)
    path.write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused(path)


def test_a_shipped_name_wins_over_a_file_unless_a_path_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").write_text(load("tiny").replace(maximum_loss=1).to_json())
    (tmp_path / "other").write_text(load("tiny").replace(maximum_loss=1).to_json())
    assert load("tiny").target.maximum_loss == 6.5
    assert load("./tiny").target.maximum_loss == 1
    assert load("other").target.maximum_loss == 1


def family_text(targets):
    tiny = json.loads(load("tiny").to_json())
    return json.dumps({"format": "depl-family", "version": 1, "instance": tiny, "targets": targets})


def test_a_family_of_the_users_own_chooses_every_field_of_its_targets():
    family = parse(
        family_text({"6.5": {"maximum_loss": 6.5}, "8": {"maximum_loss": 8, "quantile_level": 0.5}})
    )
    assert isinstance(family, Family)
    assert family.at(8).target.quantile_level == 0.5
    assert family.at("6.5").target.quantile_level == 0.7
    assert parse(family_text({"8": {"maximum_loss": 8}})).at(None).target.maximum_loss == 8


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({}, r"\$\.targets"),
        ({"9": {"maximum_loss": 8}}, r"\$\.targets: the key '9' must be the value of maximum_loss, 8"),
        ({"8": {"maximum_loss": 8, "maximum_tme": 3}}, r"\$\.targets\[\.\.\.\].*maximum_tme"),
        ({"8": {"maximum_loss": 8, "maximum_time": 0}}, r"\$\.targets\[\.\.\.\]\.maximum_time"),
    ],
)
def test_families_that_contradict_themselves_are_refused(targets, message):
    with pytest.raises(InvalidInputError, match=message):
        parse(family_text(targets))


def test_a_target_that_makes_the_instance_invalid_is_refused_with_its_name():
    document = json.loads(family_text({"8": {"maximum_loss": 8, "maximum_epochs": 9}}))
    document["instance"]["models"][0]["compute"] = [{"epochs": [4, 4, 4]}]
    with pytest.raises(InvalidInputError, match=r"target '8' makes an invalid instance: .*compute"):
        parse(json.dumps(document))


def test_comments_keep_the_line_numbers_and_the_strings():
    text = '// first\n{"a": "x // y",\n  // second\n"b": 1}'
    assert strip_comments(text) == '\n{"a": "x // y",\n\n"b": 1}'


def test_every_shipped_file_is_listed_and_readable():
    files = {path.name for path in library._FOLDER.iterdir() if path.is_file()}
    assert files == {f"{name}.json" for name in names()}
