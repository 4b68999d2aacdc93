"""``depl diagnose``: the verdict with its numbers, for people and as JSON, and what it refuses."""

import json

import numpy as np
import pytest

from depl.models.problem.instance import Instance, InverseSqrtImprovement, Model, Switch
from depl.models.problem.laws import InverseGamma, Normal
from depl.models.traces.files import write_traces
from depl.models.traces.table import Traces
from tests.cases.drawn_traces import draw_traces


@pytest.fixture(scope="module")
def drawn(bell: Instance) -> Traces:
    """40 runs of the paper's law, five epochs of each of two models."""
    noise = InverseGamma(mean=1, variance=0.03)
    models = [
        Model(name=name, size=1, demand=2, improvement=InverseSqrtImprovement(scale=2, offset=b, noise=noise))
        for name, b in (("full", 1.0), ("cut", 4.0))
    ]
    rows = [Switch(previous="full", following="cut", law=Normal(mean=0.4, variance=0.01))]
    instance = bell.replace(models=models, switches=rows)
    return draw_traces(instance, ["full"] * 5 + ["cut"] * 5, 40, np.random.default_rng(1))


@pytest.fixture
def good(drawn: Traces, tmp_path):
    path = tmp_path / "good.csv"
    write_traces(path, drawn)
    return path


@pytest.fixture
def bad(drawn: Traces, tmp_path):
    """The same runs, each stretched by a factor of its own."""
    factor = np.random.default_rng(2).normal(1, 0.3, len(drawn.runs))
    loss = 10 + (drawn.loss - 10) * np.repeat(factor, np.diff(drawn.bounds))
    path = tmp_path / "bad.csv.gz"
    write_traces(path, Traces(drawn.run, drawn.epoch, drawn.model, drawn.cluster, loss))
    return path


def test_the_verdict_its_reason_what_runs_carry_and_what_comes_next_come_first(ask, good, bad) -> None:
    code, text, err = ask("diagnose", good, "--resamples", 99, "--details")
    assert (code, err) == (0, "")
    first, _, law, runs, following, *rest = text.splitlines()
    assert first == f"{good}: the independent law may be used"
    assert law.startswith("paper's law  may be used: whole runs vary ")
    assert runs.endswith("a promise of 0.95 that is right on average, and 0.9 with confidence 0.95")
    assert following.startswith(
        f"next         depl fit {good} --template setup.json --out mine.json --law independent"
    )
    assert any(line.startswith("full -> cut |    40 |         0 |") for line in rest)
    assert "1. 5 full@site, 5 cut@site: after epoch 10 the 1 to 99 % band of 40 runs goes from" in text
    assert "all runs begin alike" in text
    assert "must not be used" not in text
    brief = ask("diagnose", good, "--resamples", 99)[1]
    assert text.startswith(brief.rpartition("\n\n")[0])
    assert brief.endswith(f"its and tests: depl diagnose {good} --details\n")
    code, text, _ = ask("diagnose", bad, "--resamples", 99, "--details")
    assert code == 0
    first, _, law, _, following, *_ = text.splitlines()
    assert first.endswith("the independent law must NOT be used")
    assert law.startswith("paper's law  not to be used: whole runs vary")
    assert following.split("   ")[-2].endswith("--out mine.json")
    assert "- the independent law must not be used: whole runs vary" in text
    assert "40 jumps are estimated" in text


def test_too_few_runs_are_told_with_the_number_that_would_do(ask, drawn: Traces, tmp_path) -> None:
    few = tmp_path / "few.csv"
    write_traces(few, drawn.select([0, 1, 2]))
    _, text, _ = ask("diagnose", few, "--resamples", 19)
    runs, following = text.splitlines()[3:5]
    assert runs.endswith("3 of the schedule with most runs: too few for a promise of 0.8, which takes 4")
    assert following.endswith("a promise of 0.8 takes 4, 0.9 takes 9, 0.95 takes 19, 0.99 takes 99 of them")
    assert json.loads(ask("diagnose", few, "--resamples", 19, "--json")[1])["facts"] is None


def test_json_holds_fits_tests_and_verdict(ask, good) -> None:
    code, text, _ = ask("diagnose", good, "--resamples", 49, "--json")
    content = json.loads(text)
    assert code == 0
    assert content["usable"] is True
    assert (content["runs"], content["metric"], content["most_of_one_schedule"]) == (40, "loss", 40)
    assert [(row["model"], row["first"], row["runs"]) for row in content["behind"]] == [
        ("full", True, 40),
        ("cut", False, 40),
    ]
    assert [row["combination"] for row in content["fits"]] == ["full", "cut"]
    assert content["whole"]["start_correlation"] is None
    (jump,) = content["switches"]
    assert (jump["from"], jump["to"], jump["jumps"]) == ("full", "cut", 40)
    first, second = jump["laws"]
    assert (first["family"], second["family"]) == ("student_t", "normal")
    assert sorted(first["parameters"]) == ["degrees_of_freedom", "location", "scale"]
    assert first["p_value"] == first["goodness"]["bootstrap_p_value"]
    assert [item["nominal"] for item in content["promises"]] == [0.1, 0.05, 0.01]


def test_every_schedule_can_have_fits_of_its_own(ask, good) -> None:
    _, text, _ = ask("diagnose", good, "--resamples", 19, "--by", "schedule", "--json")
    rows = json.loads(text)["fits"]
    assert [row["combination"] for row in rows] == [
        "full / site / 5 full@site, 5 cut@site",
        "cut / site / 5 full@site, 5 cut@site",
    ]


def test_figures_are_drawn_where_asked_for(ask, good, tmp_path) -> None:
    code, _, err = ask("diagnose", good, "--resamples", 19, "--figure", tmp_path / "pictures" / "good")
    assert code == 2  # the folder has to exist
    code, _, err = ask("diagnose", good, "--resamples", 19, "--figure", tmp_path / "new")
    assert code == 0
    names = [f"new-{name}.{kind}" for name in ("verdict", "loss", "fits") for kind in ("png", "svg")]
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)
    assert "drawn in" in err


def test_the_same_seed_gives_the_same_answer(ask, good) -> None:
    answers = [ask("diagnose", good, "--resamples", 19, "--seed", seed)[1] for seed in (3, 3, 4)]
    assert answers[0] == answers[1] != answers[2]


def test_what_cannot_be_diagnosed_is_refused(ask, good, drawn: Traces, tmp_path) -> None:
    write_traces(tmp_path / "few.csv", drawn.select([0, 1]))
    for words, said in (
        ((tmp_path / "none.csv",), "none.csv"),
        (("digits-nothing",), "digits-nothing"),
        ((good, "--metric", "error_rate"), "--metric: "),
        (
            (tmp_path / "few.csv",),
            "few.csv: dependence shows between runs of one schedule; 2 of them are too few",
        ),
    ):
        code, _, err = ask("diagnose", *words)
        assert (code, said in err) == (2, True), err
