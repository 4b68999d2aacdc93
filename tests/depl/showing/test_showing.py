"""Objects print as the command line shows them, are one line among many, and a page in a notebook."""

import dataclasses
import json
import math
import re
import sys
from fractions import Fraction
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import depl
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.certificate import certificate
from depl.models.estimation.diagnosis import diagnose
from depl.models.evaluation.evaluate import epoch_times
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.policy.replay import replay
from depl.models.policy.result import PolicyResult
from depl.models.policy.simulation import Simulation
from depl.models.problem.plan import ClusterData
from depl.models.solving.observed_state import State
from depl.models.tool_logs.importing import Choices, import_logs
from depl.models.traces.same_runs import told_apart
from depl.models.verifier.findings import passed
from depl.models.verifier.policies import PolicyReport
from depl.showing import KINDS, facts, json_of, view
from depl.showing.parts import Fact, Rounding, promised
from depl.showing.runs import Fitted
from tests.cases.fit_cases import drawn
from tests.cases.memory_cases import instance_of
from tests.cases.policy_files import branches, by_hand, replayed
from tests.cases.traced_law_cases import halves

LONGEST = 200
CLOUD = (ClusterData(cluster="cloud", datasets=("sensors",)),)
STATE = State(epoch=1, loss=11.0, elapsed_time=1.5, model="full", transferred=CLOUD)
SIMULATION = Simulation(1000, 950, 20, 20, 10, 5.0123456, 1.0, 3.0, 9.0, refuted=("cost",))
TOLD = {
    "Simulation": {"claimed_cost": 5.0000001, "claimed_reached": 0.94999999},
    "Replay": {"claimed_cost": 5.0000001},
}
"""What views are told besides their object."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One object of every kind that has a view, of an instance whose names would be markup."""
    log = tmp_path_factory.mktemp("logs") / "log.csv"
    rows = [f"r{run},{epoch},net,<site>,{4 - epoch / 4}" for run in range(3) for epoch in range(4)]
    log.write_text("\n".join(["run,epoch,model,cluster,loss", *rows]))
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
        "PolicyReport": PolicyReport((passed("rows", "<all>"),), None, policy()),
        "Simulation": SIMULATION,
        "Replay": replay(replayed(), branches()),
        "Evaluation": depl.evaluate(instance, result.plan),
        "Front": depl.front(instance, "loss", between=(4, 15), points=3),
        "Report": depl.check(instance, result.plan),
        "Replanning": depl.replan(instance, result.plan, state, method="exact"),
        "Diagnosis": diagnose(traces, np.random.default_rng(0), resamples=19),
        "Imported": import_logs([str(log)], Choices("loss", first=1)),
        "Fitted": Fitted(instance_of(halves()), told_apart(drawn()), True, "", "runs.csv", "loss", 0),
        "Certificate": certificate(np.linspace(0.1, 1.234567, 100), 1.2345, 0.95),
    }


def policy():
    """A policy with a cluster whose name would be markup."""
    text = by_hand().to_json().replace('"site"', '"<site> & co"').replace("by hand", "<by hand>")
    return depl.Policy.from_json(text)


def policy_result(instance):
    return PolicyResult(
        termination=depl.Termination.GAP_REACHED,
        policy=policy(),
        failure_cost=30.0,
        ratio=(4.5, 5.0),
        lower_bound=6.0,
        instance=instance,
        gap_wanted=0.1,
        cells=20,
        seconds=0.5,
    )


def test_a_policy_that_was_counted_rests_on_its_runs_and_has_no_bound():
    found = policy_result(depl.load("tiny").replace(units={"cost": "EUR"}))
    assert repr(found).endswith("reached): at least 0.949999, certified under the law ...>")
    assert "at most 6.50001 EUR, lower bound 6 EUR (gap 7.7 %)" in str(found)
    certificate = msgspec.structs.replace(found.policy.certificate, method="counted", runs=40)
    counted = msgspec.structs.replace(found.policy, state="observed", certificate=certificate)
    told = str(dataclasses.replace(found, policy=counted, lower_bound=0.0))
    assert "at least 0.949999, counted over all combinations of the runs; asked 0.9" in told
    assert "no lower bound is proved" in told
    assert "bound holds for" not in told
    assert "kept as counted, by the cheapest of those tried, planned at a price of 30 a failure" in told
    assert "the observed loss, rounded up" in str(counted)


NAMES = [kind.rpartition(".")[2] for kind in KINDS]


def test_every_kind_is_among_those_that_are_tried_and_no_other_has_a_view(shown):
    assert set(NAMES) == set(shown)
    with pytest.raises(LookupError, match="int"):
        view(3)


@pytest.mark.parametrize("kind", NAMES)
def test_a_view_is_a_line_a_text_and_a_page_and_its_facts_are_json_and_told_on_the_safe_side(shown, kind):
    thing = shown[kind]
    seen = view(thing, **TOLD.get(kind, {}))
    text, page = seen.text(), seen.html()
    if isinstance(thing, depl.models.foundation.showing.Shown):
        assert (repr(thing), str(thing), thing._repr_html_()) == (seen.brief, text, page)
    assert seen.brief.startswith(f"<{kind}")
    assert "\n" not in seen.brief
    assert len(seen.brief) <= min(LONGEST, len(text))
    elements = {element.tag for element in ElementTree.fromstring(page).iter()}  # no name is one
    assert {"table", "td"} <= elements <= {"div", "p", "b", "br", "table", "tbody", "tr", "th", "td"}
    printed = json.loads(json_of(thing))
    assert list(printed) == list(facts(thing))
    assert not hasattr(thing, "to_json") or printed == json.loads(thing.to_json())
    for name, known in facts(thing).items():
        told = known.told
        assert told.startswith(known.rounding.value) or None in ends_of(known), name
        if known.value is not None and known.rounding is not Rounding.NEAREST:
            ways = {Rounding.DOWN: (DOWN,), Rounding.UP: (UP,), Rounding.OUTWARD: (DOWN, UP)}[known.rounding]
            values = [Fraction(end) for end in ends_of(known) if end is not None]
            for value, said, side in zip(values, ends(told), ways[len(ways) - len(values) :], strict=True):
                assert side * said <= side * value, (name, told)


def ends_of(known: Fact) -> tuple[float | None, ...]:
    if known.rounding is not Rounding.OUTWARD or known.value is None:
        return (known.value,)
    return tuple(known.value.values() if isinstance(known.value, dict) else known.value)


UP, DOWN = -1, 1


def ends(text: str) -> tuple[Fraction, ...]:
    """The numbers of a text, as they are written."""
    return tuple(map(Fraction, re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", text)))


@example(0.17500000000000002, 0.0, 3, "%")  # 100 times it is 17.5 in floats, which is too small
@given(st.floats(-1e12, 1e12), st.floats(0, 1e9), st.integers(3, 9), st.sampled_from(["", "%", "EUR"]))
def test_a_fact_is_shown_on_the_safe_side_of_its_value(value, width, digits, unit):
    exact = (100 if unit == "%" else 1) * Fraction(value)
    low, high = (Fact("x", value, unit, way, digits) for way in (Rounding.DOWN, Rounding.UP))
    assert ends(low.shown)[0] <= exact <= ends(high.shown)[0]
    around = Fact("x", {"lower": value, "upper": value + width}, "", Rounding.OUTWARD, digits)
    lower, upper = ends(around.shown)
    assert lower <= Fraction(value)
    assert upper >= Fraction(value + width)
    assert ends(around.as_counted(True))[0] == upper
    missed = Fraction(abs(value)) / 10**12
    assert ends(promised(missed, digits).told)[0] <= 1 - missed


LAW, MISSED = Interval(0.123456789, 0.123456791), Interval(0.1234567891, 0.1234567893)
CLAIMED = TOLD["Simulation"]
SAFE = [
    (
        "Result",
        r"lower bound (\S+) \(gap (\S+) %",
        DOWN,
        lambda it: it.lower_bound,
        UP,
        lambda it: 100 * it.gap,
    ),
    ("Result", r"at least (\S+), certified", DOWN, lambda _: 1 - Fraction(MISSED.upper)),
    ("Result", r"in \[(\S+), (\S+)\], certified", DOWN, lambda _: LAW.lower, UP, lambda _: LAW.upper),
    ("Front", r"\| +(\S+) \| +3 \|.*at most (\S+)", DOWN, lambda _: 27.987654321, UP, lambda _: MISSED.upper),
    ("Report", r"in \[(\S+), (\S+)\]", DOWN, lambda _: MISSED.lower, UP, lambda _: MISSED.upper),
    ("Report", r"lower bound +at least (\S+)\n", DOWN, lambda it: it.proved_bound),
    ("Report", r"gap +at most (\S+) %", UP, lambda it: 100 * (1 - it.proved_bound / it.cost)),
    ("Evaluation", r"in \[(\S+), (\S+)\]\n", DOWN, lambda _: MISSED.lower, UP, lambda _: MISSED.upper),
    ("Evaluation", r"in \[(\S+), (\S+)\], cert", DOWN, lambda _: LAW.lower, UP, lambda _: LAW.upper),
    ("PolicyResult", r"at least (\S+), certified", DOWN, lambda it: it.reached),
    ("PolicyResult", r"expected cost +at most (\S+)\n", UP, lambda it: it.cost),
    ("PolicyResult", r"per success +at most (\S+)\n", UP, lambda it: it.per_success),
    ("PolicyResult", r"failures +at most (\S+), lower", UP, lambda it: it.objective),
    ("PolicyResult", r"lower bound (\S+) \(gap", DOWN, lambda it: it.lower_bound),
    ("PolicyResult", r"\(gap (\S+) %", UP, lambda it: 100 * it.gap),
    ("PolicyResult", r"costs in \[(\S+), (\S+)\]", DOWN, lambda it: it.ratio[0], UP, lambda it: it.ratio[1]),
    ("Simulation", r"claimed: at least (\S+)\n", DOWN, lambda _: CLAIMED["claimed_reached"]),
    ("Simulation", r"claimed: at most (\S+)\n", UP, lambda _: CLAIMED["claimed_cost"]),
    ("Replay", r"claimed: at most (\S+)\n", UP, lambda _: CLAIMED["claimed_cost"]),
    ("Certificate", r"at least (\S+) with", DOWN, lambda it: 1 - Fraction(it.greatest_violation)),
    ("Certificate", r"both sides \[(\S+), ", DOWN, lambda it: 1 - Fraction(it.violation.upper)),
    ("Certificate", r"both sides \[\S+, (\S+)\]", UP, lambda it: 1 - Fraction(it.violation.lower)),
    ("Certificate", r"quantile is at most (\S+) with", UP, lambda it: it.quantile.value),
]
"""Of a view: numbers in its text, and on which side of which value of the object each may be."""


@pytest.fixture(scope="module")
def uneven(shown):
    """Objects whose numbers end nowhere."""
    evaluation = dataclasses.replace(shown["Result"].evaluation, violation=MISSED, quantile=LAW)
    result = dataclasses.replace(shown["Result"], lower_bound=27.987654321, evaluation=evaluation)
    result = dataclasses.replace(result, termination=depl.Termination.EXHAUSTED)
    point = dataclasses.replace(shown["Front"].points[0], result=result)
    bracket = type(shown["Report"].violation)(Fraction(MISSED.lower), Fraction(MISSED.upper))
    found = shown["Evaluation"]
    ends = {"violation": MISSED, "quantile": LAW}
    known = {"cost": 5.123456789, "reached": 0.948765432}
    claims = msgspec.structs.replace(policy().certificate, **known)
    planned = {"policy": msgspec.structs.replace(policy(), certificate=claims)}
    planned |= {"lower_bound": 6.123456789, "ratio": (4.512345678, 5.012345678)}
    return shown | {
        "Result": result,
        "Front": dataclasses.replace(shown["Front"], points=(point,)),
        "Report": dataclasses.replace(shown["Report"], violation=bracket, proved_bound=result.lower_bound),
        "Evaluation": dataclasses.replace(found, **ends),
        "PolicyResult": dataclasses.replace(policy_result(shown["Instance"]), **planned),
    }


@pytest.mark.parametrize(
    ("kind", "pattern", "sides"), [(kind, pattern, sides) for kind, pattern, *sides in SAFE]
)
def test_what_is_certified_is_shown_on_the_safe_side(uneven, kind, pattern, sides):
    text = view(uneven[kind], **TOLD.get(kind, {})).text()
    found = re.search(pattern, text)
    assert found, text
    for said, side, value_of in zip(found.groups(), sides[::2], sides[1::2], strict=True):
        value, told = Fraction(value_of(uneven[kind])), Fraction(said)
        assert side * told <= side * value, said
        assert abs(told - value) <= abs(value) / 500  # but not far from it


def test_names_of_any_length_leave_repr_short_and_many_stages_the_page_small():
    long = "n" * 100
    assert len(repr(depl.load("tiny").replace(name=long))) <= LONGEST
    epochs = [{"model": f"{number % 2}{long}", "cluster": "c", "resources": 1.0} for number in range(500)]
    plan = depl.Plan(data=({"cluster": "c", "datasets": ("d",)},), epochs=epochs)
    assert len(repr(plan)) <= LONGEST
    assert "and 440 more stages" in str(plan)
    assert plan._repr_html_().count("<tr>") < 80
    assert "no training" in str(depl.Plan())


def test_a_result_without_its_instance_still_prints():
    result = depl.solve(depl.load("tiny"), "exact")
    bare = dataclasses.replace(result, problem=None)
    assert (bare == result, "cost    28, lower bound 28 (gap 0 %)" in str(bare)) == (True, True)
    assert "problem" not in json.loads(result.to_json())


def test_a_probability_that_is_nearly_one_is_not_shown_as_one():
    instance = depl.load("tiny").replace(quantile_level=1 - 2e-8)
    assert "with probability 0.99999998" in repr(instance)
    told = str(depl.solve(instance, "enumerate"))
    assert "target 6.5 at omega 0.99999998 unreachable within 3 epochs" in told
    single = depl.load("tiny").replace(maximum_epochs=1)
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


def test_an_evaluation_names_what_is_broken_and_what_binds(tiny, tiny_optimum):
    assert "binds" in str(depl.evaluate(tiny, tiny_optimum))
    plan = msgspec.structs.replace(tiny_optimum, instance=None)
    hasty = depl.evaluate(tiny.replace(maximum_time=4.0), plan)
    assert ("NOT feasible" in str(hasty), "BROKEN" in str(hasty)) == (True, True)
    assert repr(hasty).startswith("<Evaluation: NOT feasible; cost: ")


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
    for frames in (tiny.frames, depl.solve(tiny, "exact").frame):
        with pytest.raises(InvalidInputError, match=r"pip install 'depl\[tables\]'"):
            frames()


@pytest.mark.parametrize("words", ["solve tiny", "check tiny P", "explain tiny P", "replan tiny P S"])
def test_figure_draws_the_plan_and_never_over_what_is_read(ask, tmp_path, words, tiny_optimum):
    plan, state, drawn_in = (tmp_path / name for name in ("plan.svg", "state.json", "alone.svg"))
    plan.write_text(tiny_optimum.to_json())
    state.write_text(STATE.to_json())
    given = [{"P": plan, "S": state}.get(word, word) for word in words.split()]
    code, _, err = ask(*given, "--figure", drawn_in)
    assert (code, f"drawn in {drawn_in}" in err) == (0, True)
    ElementTree.parse(drawn_in)
    if plan in given:
        code, _, err = ask(*given, "--figure", tmp_path / "plan")
        assert (code, "which is read" in err) == (2, True)


def test_a_figure_without_an_ending_is_drawn_in_two_formats_and_none_without_a_plan(ask, tmp_path):
    code, _, err = ask("solve", "tiny", "--figure", tmp_path / "drawn")
    assert (code, f"drawn in {tmp_path / 'drawn.png'} and {tmp_path / 'drawn.svg'}" in err) == (0, True)
    begun = {path.name: path.read_bytes()[:4] for path in tmp_path.iterdir()}
    assert begun == {"drawn.png": b"\x89PNG", "drawn.svg": b"<?xm"}
    code, _, err = ask("solve", "tiny", "--target", -100, "--figure", tmp_path / "x")
    assert (code, "x not drawn: there is no plan" in err) == (3, True)
