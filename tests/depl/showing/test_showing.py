"""Objects print as the command line shows them, with units: a line, a text, and a page in a notebook."""

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
from depl.commands.progress import held
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.advice import Advice, Option, Runs
from depl.models.estimation.certificate import certificate
from depl.models.estimation.diagnosis import diagnose
from depl.models.evaluation.evaluate import epoch_times
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.policy.follow import Simulation
from depl.models.policy.result import PolicyResult
from depl.models.problem.plan import ClusterData
from depl.models.problem.units import Units
from depl.models.solving.replanning import State
from depl.models.tool_logs.importing import Choices, import_logs
from depl.models.traces.same_runs import told_apart
from depl.models.verifier.findings import passed
from depl.models.verifier.policies import PolicyReport
from depl.reporting.facts import facts_of
from depl.reporting.page import Source, page_of
from depl.showing import KINDS, facts, json_of, view
from depl.showing.explain import explain
from depl.showing.parts import Fact, Rounding, promised
from depl.showing.runs import Fitted
from tests.cases.fit_cases import drawn
from tests.cases.memory_cases import instance_of
from tests.cases.policy_files import by_hand
from tests.cases.traced_law_cases import halves
from tests.problems import plan

LONGEST = 200
CLOUD = (ClusterData(cluster="cloud", datasets=("sensors",)),)
STATE = State(epoch=1, loss=11.0, elapsed_time=1.5, model="full", transferred=CLOUD)
SIMULATION = Simulation(1000, 950, 20, 20, 10, 5.0123456, 1.0, 3.0, 9.0, refuted=("cost",))
SITE = ("net", "<site>")
ADVISED = Option((SITE,) * 2, (SITE,) * 3, 7.25, 12, 0, 7, Runs(7, 0, 0.704))
TOLD = {
    "Simulation": {"claimed_cost": 5.0000001, "claimed_reached": 0.94999999},
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
        "Evaluation": depl.evaluate(instance, result.plan),
        "Front": depl.front(instance, "loss", between=(4, 15), points=3),
        "Report": depl.check(instance, result.plan),
        "Replanning": depl.replan(instance, result.plan, state, method="exact"),
        "Traces": depl.read_logs(log, "loss", first=1),
        "Diagnosis": diagnose(traces, np.random.default_rng(0), resamples=19),
        "Imported": import_logs([str(log)], Choices("loss", first=1)),
        "Fitted": Fitted(instance_of(halves()), told_apart(drawn()), True, "", "runs.csv", "loss"),
        "Advice": Advice(1.0, 0.95, 8.125, 2.5, (ADVISED,)),
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
        cells=20,
        seconds=0.5,
    )


def test_a_policy_that_was_counted_rests_on_its_runs_and_has_no_bound():
    found = policy_result(depl.load("tiny").replace(units={"cost": "EUR"}))
    assert "at most 6.50001 EUR, lower bound 6 EUR (gap 7.7 %)" in str(found)
    certificate = msgspec.structs.replace(found.policy.certificate, method="counted", runs=40)
    counted = msgspec.structs.replace(found.policy, state="observed", certificate=certificate)
    told = str(dataclasses.replace(found, policy=counted, lower_bound=0.0))
    assert "at least 0.949999, counted over all combinations of the runs; asked 0.9" in told
    assert ("no lower bound is proved" in told, "bound holds for" in told) == (True, False)


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


def ends_of(known):
    if known.rounding is not Rounding.OUTWARD or known.value is None:
        return (known.value,)
    return tuple(known.value.values() if isinstance(known.value, dict) else known.value)


UP, DOWN = -1, 1


def ends(text):
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
SAFE = r"""
Result: lower bound (\S+) \(gap (\S+) %: lower_bound gap
Result: at least (\S+), certified: -violation
Result: in \[(\S+), (\S+)\], certified: quantile
Front: \| +(\S+) \| +3 \|.*at most (\S+): >27.987654321 <0.1234567893
Report: in \[(\S+), (\S+)\]: violation
Report: lower bound +at least (\S+): lower_bound
Report: gap +at most (\S+) %: gap
Evaluation: in \[(\S+), (\S+)\]\n: violation
Evaluation: in \[(\S+), (\S+)\], cert: quantile
PolicyResult: at least (\S+), certified: reached
PolicyResult: expected cost +at most (\S+)\n: cost
PolicyResult: per success +at most (\S+)\n: per_success
PolicyResult: failures +at most (\S+), lower bound (\S+) \(gap (\S+) %: objective lower_bound gap
PolicyResult: costs in \[(\S+), (\S+)\]: ratio
Simulation: claimed. at least (\S+)\n: >0.94999999
Simulation: claimed. at most (\S+)\n: <5.0000001
Certificate: at least (\S+) with: -greatest_violation
Certificate: both sides \[(\S+), (\S+)\]: -violation
Certificate: quantile is at most (\S+) with: <1.2231067
"""
"""Of a view: numbers in its text, and the facts that they tell, with a minus sign of the other event."""


def sides_of(thing, name):
    """The values that numbers tell, each with the side on which the number may be."""
    if name[0] in "<>":
        return [(UP if name[0] == "<" else DOWN, Fraction(float(name[1:])))]
    known = facts(thing)[name.removeprefix("-")]
    values = [Fraction(100 * Fraction(end) if known.unit == "%" else end) for end in ends_of(known)]
    ways = {Rounding.DOWN: [DOWN], Rounding.UP: [UP], Rounding.OUTWARD: [DOWN, UP]}[known.rounding]
    if name[0] == "-":
        return [(DOWN, 1 - values[-1]), (UP, 1 - values[0])]
    return list(zip(ways, values, strict=True))


@pytest.fixture(scope="module")
def uneven(shown):
    """Objects whose numbers end nowhere."""
    evaluation = dataclasses.replace(shown["Result"].evaluation, violation=MISSED, quantile=LAW)
    result = dataclasses.replace(shown["Result"], lower_bound=27.987654321, evaluation=evaluation)
    result = dataclasses.replace(result, termination=depl.Termination.EXHAUSTED)
    point = dataclasses.replace(shown["Front"].points[0], result=result)
    bracket = type(shown["Report"].violation)(Fraction(MISSED.lower), Fraction(MISSED.upper))
    claims = msgspec.structs.replace(policy().certificate, cost=5.123456789, reached=0.948765432)
    planned = msgspec.structs.replace(policy(), certificate=claims)
    changes = {
        "Front": {"points": (point,)},
        "Report": {"violation": bracket, "proved_bound": result.lower_bound},
        "Evaluation": {"violation": MISSED, "quantile": LAW},
        "PolicyResult": {"policy": planned, "lower_bound": 6.123456789, "ratio": (4.512345678, 5.012345678)},
    }
    made = {kind: dataclasses.replace(shown[kind], **fields) for kind, fields in changes.items()}
    return shown | {"Result": result} | made


@pytest.mark.parametrize("row", SAFE.strip().splitlines())
def test_what_is_certified_is_shown_on_the_safe_side(uneven, row):
    kind, pattern, names = row.split(": ")
    text = view(uneven[kind], **TOLD.get(kind, {})).text()
    found = re.search(pattern, text)
    assert found, text
    wanted = [side for name in names.split() for side in sides_of(uneven[kind], name)]
    for said, (side, value) in zip(found.groups(), wanted, strict=names[0] != "-"):
        assert side * Fraction(said) <= side * value, said
        assert abs(Fraction(said) - value) <= abs(value) / 500  # but not far from it


def test_names_of_any_length_leave_repr_short_and_many_stages_the_page_small():
    long = "n" * 100
    assert len(repr(depl.load("tiny").replace(name=long))) <= LONGEST
    many = plan(*((f"{number % 2}{long}", "c") for number in range(500)))
    assert len(repr(many)) <= LONGEST
    assert "and 440 more stages" in str(many)
    assert many._repr_html_().count("<tr>") < 80


def test_a_result_without_its_instance_prints_and_a_probability_that_is_nearly_one_is_not_shown_as_one():
    bare = dataclasses.replace(depl.solve(depl.load("tiny"), "exact"), problem=None)
    assert "cost    28, lower bound 28 (gap 0 %)" in str(bare)
    instance = depl.load("tiny").replace(quantile_level=1 - 2e-8)
    for text in (repr(instance), str(depl.solve(instance, "enumerate"))):
        assert "0.99999998" in text


@pytest.mark.parametrize("bound", [-math.inf, 0.0])
def test_a_result_that_proves_nothing_says_so(bound):
    result = depl.solve(depl.load("tiny"), "exact")
    found = dataclasses.replace(result, lower_bound=bound, termination=depl.Termination.EXHAUSTED)
    none = dataclasses.replace(found, plan=None, cost=None)
    for text in map(str, (found, repr(found), found._repr_html_(), none, repr(none))):
        assert ("inf" in text, "gap" in text) == (False, False)
    assert all("no lower bound is proved" in text for text in (str(found), repr(found)))


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
    assert frames["transfers"]["cost"].tolist() == [2.0, 1.0]


def test_without_pandas_frames_are_refused_with_what_to_do(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'depl\[tables\]'"):
        tiny.frames()


@pytest.mark.parametrize("words", ["solve tiny", "check tiny P", "explain tiny P", "replan tiny P S"])
def test_figure_draws_the_plan(ask, tmp_path, words, tiny_optimum):
    optimum, state, drawn_in = (tmp_path / name for name in ("plan.json", "state.json", "alone.svg"))
    optimum.write_text(tiny_optimum.to_json())
    state.write_text(STATE.to_json())
    given = [{"P": optimum, "S": state}.get(word, word) for word in words.split()]
    assert ask(*given, "--figure", drawn_in)[0] == 0
    ElementTree.parse(drawn_in)


def test_a_figure_without_an_ending_is_drawn_in_two_formats_and_none_without_a_plan(ask, tmp_path):
    assert ask("solve", "tiny", "--figure", tmp_path / "drawn")[0] == 0
    code, _, err = ask("solve", "tiny", "--target", -100, "--figure", tmp_path / "x")
    assert (code, "x not drawn: there is no plan" in err) == (3, True)
    begun = {path.name: path.read_bytes()[:4] for path in tmp_path.iterdir()}
    assert begun == {"drawn.png": b"\x89PNG", "drawn.svg": b"<?xm"}


NAMED = Units(cost="EUR", time="h", resource="GPU", data="GB", size="MB", memory="GiB")


@pytest.fixture(scope="module")
def instance():
    return depl.load("tiny").replace(round_deadline=4, units=NAMED)


@pytest.fixture(scope="module")
def result(instance):
    return depl.solve(instance, "enumerate")


def test_every_text_names_the_units(instance, result):
    state = depl.State(epoch=1, loss=9.0, elapsed_time=1.5, model="full", transferred=result.plan.data[:1])
    page = page_of(facts_of(instance, result.plan, None), Source("tiny"), 10.0)
    front = depl.front(instance, "time", between=(5.0, 6.0), points=2, method="enumerate")
    replanned = depl.replan(instance, result.plan, state, method="enumerate")
    for text, said in {
        str(instance): ("T_max = 5 h", "[GPU]", "[MB / h]", "beta [EUR]", "[EUR / GPU]", "[GB]", "[MB]"),
        str(result): ("28 EUR, lower bound 28 EUR", "5 of 5 h"),
        str(depl.evaluate(instance, result.plan)): ("28 EUR", "27 EUR", "5 h", "4 h"),
        str(depl.check(instance, result.plan)): ("28 EUR", "5 h"),
        str(front): ("T_max [h]", "cost [EUR]", "lower bound [EUR]", "time [h]"),
        str(replanned): ("1.5 of 5 h", "EUR, as planned"),
        explain(instance, result.plan): ("cost 28 EUR", "T_max is 5 h", "EUR (lambda", "deadline is 4 h"),
        re.sub(r"<[^>]+>", " ", page.html): ("For a cost of 28 EUR", "a time of 5 h of the 5 h allowed"),
        held(30.0, 20.0, NAMED): ("best plan 30 EUR", "lower bound 20 EUR"),
    }.items():
        assert [words for words in said if words not in text] == []


def test_units_are_all_that_they_add_to_a_text(instance, result):
    bare = instance.replace(units=Units())
    for text in (
        str,
        lambda given: str(depl.evaluate(given, result.plan)),
        lambda i: explain(i, result.plan),
    ):
        assert _without_units(text(instance)) == _without_units(text(bare))


def _without_units(text):
    """A text without units, blanks and rules: what is left does not depend on the width of columns."""
    text = re.sub(r"\b(one unit|1 (h|GPU)) more", "more", text)
    text = re.sub(r"\[[A-Za-z]+( / [A-Za-z]+)?\]|\b(EUR|GPU|GB|MB|GiB|h)\b", "", text)
    return re.sub(r"[\s|+-]+", "", text)
