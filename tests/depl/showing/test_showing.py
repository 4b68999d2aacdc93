"""Objects print as the command line shows them, are one line among many, and a page in a notebook."""

import dataclasses
import json
import math
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.diagnosis import diagnose
from depl.models.evaluation.evaluate import epoch_times
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.showing import look_of
from depl.models.policy.result import PolicyResult
from depl.models.problem.plan import ClusterData
from depl.models.solving.observed_state import State
from depl.showing.diagnoses import diagnosis_sections
from depl.showing.parts import text_of
from depl.showing.plans import plan_sections
from depl.showing.registered import LOOKS
from tests.cases.policy_files import by_hand

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 200
STATE = State(
    epoch=1,
    loss=11.0,
    elapsed_time=1.5,
    model="full",
    transferred=(ClusterData(cluster="cloud", datasets=("sensors",)),),
)


class Balanced(HTMLParser):
    """Fails on an element that is closed before what is in it, or not at all."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def shown():
    """One object of every kind that shows itself, of an instance whose names would be markup."""
    text = depl.load("tiny").to_json().replace("cloud", "<cloud> & 'co'").replace('"tiny"', '"<tiny>"')
    instance = depl.Instance.from_json(text)
    result = depl.solve(instance, "exact")
    rows = (ClusterData(cluster=instance.clusters[0].name, datasets=("sensors",)),)
    state = msgspec.structs.replace(STATE, transferred=rows)
    traces = recorded_traces("digits-alexnet").select(np.arange(60))
    return {
        "Instance": instance,
        "Result": result,
        "Plan": result.plan,
        "Policy": policy(),
        "PolicyResult": policy_result(instance),
        "Evaluation": depl.evaluate(instance, result.plan),
        "Front": depl.front(instance, "loss", between=(4, 15), points=3),
        "Report": depl.check(instance, result.plan),
        "Replanning": depl.replan(instance, result.plan, state, method="exact"),
        "Diagnosis": diagnose(traces, np.random.default_rng(0), resamples=19),
    }


def policy():
    """A policy with a cluster whose name would be markup."""
    text = by_hand().to_json().replace('"site"', '"<site> & co"').replace("by hand", "<by hand>")
    return depl.Policy.from_json(text)


def policy_result(instance):
    return PolicyResult(
        termination=depl.Termination.GAP_REACHED,
        solution=depl.Solution.FEASIBLE,
        policy=policy(),
        cost=5.0,
        reached=0.95,
        failure_cost=30.0,
        ratio=(4.5, 5.0),
        multiplier=30.0,
        lower_bound=6.0,
        instance=instance,
        gap_wanted=0.1,
        cells=20,
        seconds=0.5,
    )


def test_the_outcome_of_planning_a_policy_says_what_is_promised_and_on_what_it_rests():
    instance = depl.load("tiny").replace(units={"cost": "EUR"})
    found = policy_result(instance)
    assert repr(found) == (
        "<PolicyResult gap_reached: cost 5 EUR at most, reached with probability 0.949999 at least, "
        "lower bound 6, gap 7.69 %>"
    )
    assert "at most 5.26316 EUR" in str(found)
    assert "at most 6.50001 EUR, lower bound 6 EUR (gap 7.69 %)" in str(found)
    counted = msgspec.structs.replace(
        found.policy,
        state="observed",
        certificate=msgspec.structs.replace(found.policy.certificate, method="counted", runs=40),
    )
    told = str(dataclasses.replace(found, policy=counted, lower_bound=0.0))
    assert "at least 0.949999, counted over all combinations of the runs; asked 0.9" in told
    assert "no lower bound is proved" in told
    assert "bound holds for" not in told
    assert "kept as counted, by a policy planned at a price of 30 a failure" in told
    assert "at least in the mean of the same law with independent residuals" in told
    assert "the observed loss, rounded up" in str(counted)


def test_every_kind_is_among_those_that_are_tried(shown):
    assert {kind.rpartition(".")[2] for kind in LOOKS} == set(shown)


@pytest.mark.parametrize("kind", [kind.rpartition(".")[2] for kind in LOOKS])
def test_repr_is_a_line_and_str_and_the_page_hold_more(shown, kind):
    thing = shown[kind]
    brief, text, page = repr(thing), str(thing), thing._repr_html_()
    assert brief.startswith(f"<{kind}")
    assert "\n" not in brief
    assert len(brief) <= LONGEST
    assert len(text) > len(brief)
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert not parser.open
    assert {"table", "td"} <= parser.seen
    assert "cloud" not in parser.seen  # the name of a cluster is no element
    ElementTree.fromstring(page)


def test_names_of_any_length_leave_repr_short():
    long = "n" * 100
    instance = depl.load("tiny").replace(name=long)
    assert len(repr(instance)) <= LONGEST
    epochs = tuple({"model": f"{number}{long}", "cluster": "c", "resources": 1.0} for number in range(9))
    plan = depl.Plan(data=({"cluster": "c", "datasets": ("d",)},), epochs=epochs)
    assert len(repr(plan)) <= LONGEST
    assert "6 more models" in repr(plan)


def test_a_plan_of_many_stages_is_counted_and_its_page_stays_small():
    epochs = tuple(
        {"model": "ab"[number % 2], "cluster": "c", "resources": 1.0 + number} for number in range(500)
    )
    plan = depl.Plan(data=({"cluster": "c", "datasets": ("d",)},), epochs=epochs)
    assert "and 440 more stages" in str(plan)
    assert plan._repr_html_().count("<tr>") < 80
    assert "no training" in str(depl.Plan())


def test_what_is_printed_is_what_the_command_line_shows(ask, tmp_path):
    path = tmp_path / "plan.json"
    instance = depl.load("tiny")
    _, out, _ = ask("solve", "tiny", "--method", "exact", "--out", path)
    result = depl.solve(instance, "exact")

    def timeless(text: str) -> list[str]:
        return [line for line in text.strip().splitlines() if not line.startswith("method")]

    assert timeless(out) == timeless(str(result))
    plan = depl.Plan.from_json(path.read_text())
    assert ask("check", "tiny", path)[1].strip() == str(depl.check(instance, plan)).strip()
    assert ask("instances", "show", "tiny")[1].strip() == str(instance).strip()
    state = tmp_path / "state.json"
    state.write_text(STATE.to_json())
    _, told, _ = ask("replan", "tiny", path, state, "--method", "exact")
    assert timeless(told) == timeless(str(depl.replan(instance, plan, STATE, "exact")))


def test_a_diagnosis_prints_what_the_command_shows_of_it(shown):
    found = shown["Diagnosis"]
    named = text_of(diagnosis_sections(found, "runs.csv.gz"))
    assert named.replace("runs.csv.gz", "RUNS") == str(found)
    assert f"{found.runs}, of {found.schedules} schedules" in named
    assert found.runs == 60


def test_a_result_without_its_instance_still_prints():
    result = depl.solve(depl.load("tiny"), "exact")
    bare = dataclasses.replace(result, problem=None)
    assert "cost    28, lower bound 28 (gap 0 %)" in str(bare)
    assert bare == result
    assert "lower bound 28" in bare._repr_html_()


def test_a_probability_that_is_nearly_one_is_not_shown_as_one():
    tiny = depl.load("tiny")
    target = msgspec.structs.replace(tiny.target, quantile_level=1 - 2e-8)
    instance = tiny.replace(target=target)
    assert "with probability 0.99999998" in repr(instance)
    told = str(depl.solve(instance, "enumerate"))
    assert "target 6.5 at omega 0.99999998 unreachable within 3 epochs" in told


def test_one_epoch_that_is_too_few_is_one_epoch():
    tiny = depl.load("tiny")
    single = tiny.replace(target=msgspec.structs.replace(tiny.target, maximum_epochs=1))
    assert "unreachable within 1 epoch and" in str(depl.solve(single, "enumerate"))


@pytest.mark.parametrize("bound", [-math.inf, 0.0])
def test_a_result_that_proves_nothing_says_so(bound):
    result = depl.solve(depl.load("tiny"), "exact")
    found = dataclasses.replace(result, lower_bound=bound, termination=depl.Termination.EXHAUSTED)
    assert " 28; no lower bound is proved\n" in str(found)
    assert "cost 28, 3 epochs, no lower bound is proved" in repr(found)
    none = dataclasses.replace(found, plan=None, cost=None)
    assert "none is proved" in str(none)
    for text in map(str, (found, none, repr(found), repr(none), found._repr_html_())):
        assert "inf" not in text
        assert "gap" not in text
    assert "lower bound 27.5" in str(dataclasses.replace(found, lower_bound=27.5))


def test_the_instance_of_a_result_is_no_part_of_its_json():
    result = depl.solve(depl.load("tiny"), "exact")
    assert "problem" not in json.loads(result.to_json())
    assert result.problem == depl.load("tiny")


def test_an_evaluation_names_what_is_broken_and_what_binds(tiny, tiny_optimum):
    found = depl.evaluate(tiny, tiny_optimum)
    assert "(4)      | training time" in str(found)
    assert "binds" in str(found)
    hasty = depl.evaluate(
        tiny.replace(maximum_time=4.0), msgspec.structs.replace(tiny_optimum, instance=None)
    )
    assert "NOT feasible" in str(hasty)
    assert "BROKEN" in str(hasty)
    assert "1 constraint broken" in repr(hasty)


def test_sections_of_a_plan_list_its_data_and_claims(tiny_optimum):
    parts = plan_sections(msgspec.structs.replace(tiny_optimum, claims=None))
    assert [part.title for part in parts] == ["", ""]


def test_frames_hold_the_numbers_of_the_objects(tiny):
    result = depl.solve(tiny, "exact")
    frame = result.frame()
    assert list(frame.columns) == ["epoch", "model", "cluster", "resources", "time", "cost"]
    assert frame["epoch"].tolist() == [1, 2, 3]
    assert frame["time"].tolist() == list(epoch_times(tiny, result.plan))
    assert frame["cost"].sum() + 1 == pytest.approx(result.cost)  # one transfer costs 1
    frames = tiny.frames()
    assert frames["clusters"].set_index("name")["unit_cost"].to_dict() == {"cloud": 4.0, "edge": 1.0}
    assert frames["models"]["size"].tolist() == [model.size for model in tiny.models]
    assert frames["datasets"]["volume"].tolist() == [1.0, 1.0]
    assert frames["transfers"]["cost"].tolist() == [2.0, 1.0]


def test_without_pandas_frames_are_refused_with_what_to_do(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'depl\[tables\]'"):
        tiny.frames()
    with pytest.raises(InvalidInputError, match=r"pip install 'depl\[tables\]'"):
        depl.solve(tiny, "exact").frame()


def test_a_class_without_a_look_is_an_error():
    with pytest.raises(LookupError, match="int"):
        look_of(3)


def test_printing_an_instance_imports_neither_methods_nor_drawing():
    program = (
        "import sys, depl\n"
        "instance = depl.load('tiny')\n"
        "str(instance), repr(instance), instance._repr_html_(), depl.plot\n"
        "print([name for name in ('matplotlib', 'pandas', 'pyomo', 'depl.models.estimation.diagnosis',"
        " 'depl.heuristics.depl.method') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "tiny", "--method", "exact"),
        ("check", "tiny", "PLAN"),
        ("explain", "tiny", "PLAN"),
        ("replan", "tiny", "PLAN", "STATE", "--method", "exact"),
    ],
    ids=lambda words: words[0],
)
def test_figure_draws_the_plan_and_never_over_what_is_read(ask, tmp_path, words, tiny_optimum):
    plan, state = tmp_path / "plan.json", tmp_path / "state.json"
    plan.write_text(tiny_optimum.to_json())
    state.write_text(STATE.to_json())
    given = [{"PLAN": plan, "STATE": state}.get(word, word) for word in words]
    assert ask(*given, "--figure", tmp_path / "missing" / "drawn")[0] == 2
    code, _, err = ask(*given, "--figure", tmp_path / "alone.svg")
    assert code == 0, err
    assert f"drawn in {tmp_path / 'alone.svg'}" in err
    assert [path.name for path in tmp_path.glob("alone*")] == ["alone.svg"]
    ElementTree.parse(tmp_path / "alone.svg")
    if plan in given:
        plan.rename(tmp_path / "read.svg")
        given[given.index(plan)] = tmp_path / "read.svg"
        code, _, err = ask(*given, "--figure", tmp_path / "read")
        assert code == 2
        assert "which is read" in err


def test_the_ending_of_a_figure_says_its_format_and_none_asks_for_two(ask, tmp_path):
    for name, endings in (("drawn", (".png", ".svg")), ("alone.pdf", ("",))):
        code, _, err = ask("solve", "tiny", "--method", "exact", "--figure", tmp_path / name)
        assert code == 0, err
        assert f"drawn in {' and '.join(f'{tmp_path / name}{ending}' for ending in endings)}" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.pdf", "drawn.png", "drawn.svg"]
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(tmp_path / "drawn.svg")
    assert (tmp_path / "alone.pdf").read_bytes().startswith(b"%PDF")


def test_a_figure_of_no_plan_is_told(ask, tmp_path, tiny):
    path = tmp_path / "hard.json"
    path.write_text(tiny.replace(maximum_loss=-100.0).to_json())
    code, _, err = ask("solve", path, "--method", "exact", "--figure", tmp_path / "x")
    assert code == 3
    assert "x not drawn: there is no plan" in err
    assert not (tmp_path / "x.png").exists()
