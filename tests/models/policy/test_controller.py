"""What leads one run: decisions worked out by hand, its log, plans, and planning again over all outcomes."""

import copy
import fcntl
import json
import math
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.spent_promise import VIOLATION, promised_plan, spent_promise
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import replanned
from depl.models.policy.controller import Controller, led
from depl.models.policy.decisions import Continue, Stop, Switch
from depl.models.policy.follow import Runs, follow, greatest_costs
from depl.models.policy.rules import BEYOND, DIVERGED
from depl.models.problem.plan import Plan
from depl.models.problem.policy import Policy
from tests.cases.documents import put
from tests.cases.policy_files import LARGE, SMALL, by_hand, decide, document, forgetful, led_by, logarithmic
from tests.problems import plan, refusal

ROOT = Path(__file__).resolve().parents[3]


LOSSES = (1.0, 0.82, 0.4, 0.2)
DECIDED = {
    "1.0 0.8 0.7 0.31": Stop("deadline", 3, 0.31),
    "1.0 1.6": Stop("abandoned", 1, 1.6),
    "1.55": Stop("abandoned", 0, 1.55),
    "0.1": Continue(*SMALL, 0, 0.1),  # small may not be the last
    "1.0 0.1": Continue(*SMALL, 1, 0.1),
    "1.0 0.1 0.1": Switch(*LARGE, 2, 0.1),
    "1.0 0.9 0.3000000001": Stop("reached", 2, 0.3 + 1e-10),
    "1.01 0.82 0.43 0.300000001": Stop("reached", 3, 0.3 + 1e-9),  # the ledger is above by rounding
    "1.95": Stop("abandoned", 0, 1.95, BEYOND),
    "1.0 1e300": Stop("abandoned", 1, 1e300, BEYOND),
    "-1e300": Continue(*SMALL, 0, -1e300),
    "inf": Stop("abandoned", 0, math.inf, DIVERGED),
    "1.0 -inf": Stop("abandoned", 1, -math.inf, DIVERGED),
    "1.0 0.82 0.4 inf": Stop("abandoned", 3, math.inf, DIVERGED),
}


@pytest.mark.parametrize("losses", DECIDED)
def test_what_is_decided_after_the_last_of_some_losses(losses):
    assert decide(by_hand(), map(float, losses.split())) == DECIDED[losses]


REFUSED_CALLS = {
    "of nothing on a scale of logarithms": (logarithmic(), [], "start", 0.0, "no logarithm"),
    "of nothing by the wrong model": (logarithmic(), [1.0], "observe", 0.0, "small may not be the last"),
    "before the start": (document(), [], "observe", 1.0, "has not begun; call start"),
    "at a second start": (document(), [1.0], "start", 1.0, "has begun already, and 0 epochs"),
    "after the end": (document(), [1.0, math.nan], "observe", 1.0, "stopped after epoch 1 (abandoned); make"),
    **{
        f"that is {loss!r}": (document(), [], "start", loss, "loss: a loss is a number")
        for loss in ("0.5", None, True, [1.0, 2.0])
    },
}


@pytest.mark.parametrize(
    ("policy", "before", "call", "loss", "words"), REFUSED_CALLS.values(), ids=REFUSED_CALLS
)
def test_a_loss_is_refused_and_the_run_stands_where_it_stood(policy, before, call, loss, words):
    controller = led_by(Controller(json.dumps(policy)), *before)
    stood = controller.decision
    assert words in str(refusal(getattr(controller, call), loss))
    assert controller.decision is stood


def test_numbers_of_numpy_are_losses_and_one_of_nothing_is_met_on_a_scale_of_logarithms():
    assert decide(by_hand(), [np.float32(1.0)]) == Continue(*SMALL, 0, 1.0)
    for loss in (0.0, -2.0):
        met = led_by(Controller(json.dumps(logarithmic())), 1.0, 0.6, loss)
        assert (met.decision, met.ledger) == (Stop("reached", 2, loss), 0)


def test_why_names_the_losses_for_which_the_same_is_decided():
    controller = Controller(by_hand())
    assert controller.why() == ""
    controller.start(1.0)
    assert controller.why().endswith("(after epoch 0 with loss 1, which counts as at most 1; so up to 1.5)")
    controller.observe(0.82)
    assert controller.why().endswith("0.82, which counts as at most 0.9; so from 0.9 to 1.5)")


def test_a_controller_starts_in_a_moment_and_without_the_libraries_that_plan(tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(by_hand().to_json(), encoding="utf-8")
    program = (
        "import sys, time\nimport depl\n"
        "controller = depl.Controller(sys.argv[1], log=sys.argv[2])\n"
        "controller.start(1.0), controller.observe(0.8)\n"
        "depl.Controller.resume(sys.argv[1], sys.argv[2]).why()\n"
        "print({'numpy', 'scipy', 'numba', 'pyomo', 'pandas'} & set(sys.modules), time.process_time())\n"
    )

    def seconds(log):
        command = [sys.executable, "-c", program, str(path), str(tmp_path / log)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        loaded, taken = done.stdout.split()
        assert loaded == "set()"
        return float(taken)

    # the quickest of three counts: a busy machine makes a process slower
    assert any(seconds(log) < 0.3 for log in "abc")


REFUSED = """
format | "depl-plan" | $.format | one is needed here; a plan is followed with its instance
version | 2 | $.version | version 2 is not known to this depl, which reads 1
promise | "final" | $.promise | Invalid enum value 'final'
state | "belief" | $.state | Invalid enum value 'belief'
start | 1 | $.start | names a node after epoch 0
start | 5 | $.start | there is no node 5
maximum_epochs | 2 | $.nodes[2].trainings[0].following | of epoch 3, after maximum_epochs = 2
maximum_epochs | true | $.maximum_epochs | Expected `int`, got `bool`
grid | null | $.grid | Expected `object`, got `null`
grid.step | 0 | $.grid.step | Expected `float` > 0.0
grid.step | HUGE | $.grid.step | Number out of range
grid.scale | "sqrt" | $.grid.scale | Invalid enum value 'sqrt'
grid.target | 20 | $.grid.target | must be less than cells
nodes[0].rows | [[15, 0], [18, -1]] | $.nodes[0].rows | end at 18; the last row ends
nodes[0].rows | [] | $.nodes[0].rows | Expected `array` of length >= 1
nodes[0].rows | [[15, 0], [15, -1], [19, 0]] | $.nodes[0].rows[1].upto | does not exceed
nodes[0].rows | [[19, 1]] | $.nodes[0].rows[0].action | there is no training 1
nodes[0].trainings[0].following | 2 | $.nodes[0].trainings[0].following | epoch 2, not of epoch 1
nodes[1].trainings[0].following | 3 | $.nodes[1].trainings[0].following | another model or cluster
"""
"""Another value at a place of the document, what is named, and what is said of it."""


def changed(place, text):
    value = json.loads(text.replace("HUGE", "1" + "0" * 400))
    if place.endswith("rows"):
        value = [{"upto": upto, "action": action} for upto, action in value]
    return json.dumps(put(document(), place, value))


NOT_JSON = [
    ("{", "$", "not a JSON document"),
    (json.dumps(document()).replace("30.0", "NaN"), "$", "invalid character (line 1, column 221: 'NaN')"),
    (json.dumps(document())[:-1] + ', "version": 1}', "$.version", "is given twice"),
    (None, "policy", "there is no policy: result.reason says why"),
    (3, "policy", "must be Policy, the path of its file or its JSON text, not int"),
    (type("PolicyResult", (), {})(), "policy", "not PolicyResult; give its policy"),
]
ROWS = [row.split(" | ") for row in REFUSED.strip().splitlines()]


@pytest.mark.parametrize(
    ("policy", "place", "words"), [*((changed(*row[:2]), *row[2:]) for row in ROWS), *NOT_JSON]
)
def test_what_is_no_policy_is_refused_with_place_and_remedy(policy, place, words, tmp_path):
    found = refusal(Controller, policy)
    assert found.path == place
    assert words in found.message
    if isinstance(policy, str):
        path = tmp_path / "policy.json"
        path.write_text(policy, encoding="utf-8")
        assert refusal(Controller, path).path == f"{path}: {place}"


def test_what_is_no_file_of_text_is_refused(tmp_path):
    (tmp_path / "policy.json").write_bytes(b"\xff{}")
    assert "cannot be read (No such file" in str(refusal(Controller, tmp_path / "none.json"))
    assert "not UTF-8" in str(refusal(Controller, tmp_path / "policy.json"))


def test_a_plan_leads_a_loop_that_is_not_evaluated_before_it_and_a_controller_says_where_it_is(
    tiny, tiny_optimum
):
    controller, trained = Controller(tiny_optimum, instance=tiny), []
    assert repr(controller) == (
        "<Controller: plan of 3 epochs for tiny; 0 of at most 3 epochs, cost 0; not begun: call start>"
    )
    decision = controller.start()
    while not isinstance(decision, Stop):
        trained.append((decision.model, decision.cluster))
        decision = controller.observe(14.0 - len(trained))
    assert (tuple(trained), decision.reason) == (tiny_optimum.schedule, "deadline")
    assert "; 3 of at most 3 epochs, cost 28; stop, deadline: the target is not met, " in repr(controller)


def test_a_run_begins_without_its_first_loss_where_nothing_depends_on_it(tmp_path):
    log, other = tmp_path / "run.jsonl", tmp_path / "own.jsonl"
    controller = Controller(forgetful(), log=log)
    decision = controller.start()
    assert (decision.kind, decision.model, decision.epoch) == ("continue", "small", 0)
    assert math.isnan(decision.loss)
    assert "which was not evaluated" in controller.why()
    assert controller.observe(0.82) == Switch(*LARGE, 1, 0.82)
    seen = Controller(forgetful())
    seen.start(1.2)
    assert (seen.observe(0.82), seen.ledger) == (controller.decision, controller.ledger)
    resumed = Controller.resume(forgetful(), log)
    assert resumed.records == controller.records
    assert resumed.records[0]["loss"] is None
    lines = '{"epoch": 1, "loss": 0.82}', '{"epoch": 7}', '{"loss": 9}', '{"epoch": 2, "loss": 0.4}', ""
    other.write_text("\n".join(lines), encoding="utf-8")
    assert led(Controller(forgetful()), other).decision == Continue(*LARGE, 2, 0.4)
    for losses in ([None], [1.0, None]):
        assert "loss: a loss is a number, not None" in str(refusal(decide, by_hand(), losses))


class Given:
    """Losses of all epochs of runs, on the scale of the law."""

    def __init__(self, policy, losses):
        self.policy, self.losses = policy, losses

    def begin(self):
        return Runs(self.losses[:, 0], (np.arange(len(self.losses)),))

    def train(self, node, training, runs):
        return runs, self.losses[runs.own[0], self.policy.nodes[node].epoch + 1]


def led_alone(policy, losses):
    """How a run ends, after how many epochs, at which cost and state."""
    controller = led_by(Controller(policy), *(None if math.isnan(loss) else loss for loss in losses))
    decision = controller.decision
    end = "exhausted" if decision.reason == "deadline" else decision.reason
    return "beyond" if decision.note == BEYOND else end, decision.epoch, controller.cost, controller.ledger


@pytest.mark.parametrize(
    "policy",
    [by_hand(), by_hand(state="observed"), forgetful(), forgetful(state="observed"),
     Policy.from_json(json.dumps(logarithmic()))],
)  # fmt: skip
def test_every_run_ends_where_a_controller_ends_it(policy):
    rng, logarithms = np.random.default_rng(1), policy.grid.scale == "log"
    losses = np.abs(rng.uniform(0.2, 2.1, (400, 1)) - np.cumsum(rng.uniform(-0.3, 0.6, (400, 4)), axis=1))
    losses[:20, 0], losses[20:40, 1] = 1e300, 1e300
    if policy == forgetful(state=policy.state):
        losses[40:200, 0] = math.nan
    elif policy == by_hand():
        losses[40] = 1.0, 0.9, 0.3 + 5e-8, 9.0  # whose ledger is that of the target, but for rounding
    found = {}
    for some in follow(policy, Given(policy, np.log(losses) if logarithms else losses)):
        ended = zip(some.runs.own[0], some.runs.costs, some.runs.states, strict=True)
        found |= {run: (some.end, some.epoch, cost, state) for run, cost, state in ended}
    wanted = [led_alone(policy, row) for row in losses.tolist()]
    assert len({end for end, *_ in wanted}) >= 3
    assert policy != by_hand() or greatest_costs(policy) == [6.0, 5.0, 2.5, 2.5, 0.0]
    for run, (end, epoch, cost, state) in enumerate(wanted):
        assert found[run][:3] == (end, epoch, cost), run
        assert found[run][3] == state or end == "beyond", run


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(by_hand().to_json(), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.jsonl"


def lines(log):
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def begun(policy, log, count=4):
    """A run that has observed so many losses."""
    return led_by(Controller(policy, log), *LOSSES[:count])


def test_every_epoch_is_a_line_that_says_what_was_trained_and_what_was_decided(policy, log):
    controller = begun(policy, log, 4)
    head, *rest = lines(log)
    assert (head["format"], head["version"], head["name"]) == ("depl-run", 1, "by hand")
    assert head["policy"] == controller.fingerprint
    assert rest == list(controller.records)
    trained = {"epoch": 1, "loss": 0.82, "model": "small", "cluster": "site", "ledger": 9, "cost": 1.0}
    assert rest[1] == {**trained, "decision": "switch", "next_model": "large", "next_cluster": "site"}
    assert (rest[3]["decision"], rest[3]["reason"]) == ("stop", "reached")


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_run_goes_on_from_its_log_and_half_a_line_to_the_same_decisions(policy, log, count):
    """As a process leaves it that is killed while it writes; `tests/depl/training` kills some."""
    whole = begun(policy, log.with_name("whole"))
    begun(policy, log, count)
    with log.open("ab") as file:
        file.write(b'{"epoch": 2, "lo')
    again = led_by(Controller.resume(policy, log), *LOSSES[count:])
    assert again.records == whole.records
    assert again.decision == whole.decision == Stop("reached", 3, 0.2)
    assert lines(log)[1:] == list(whole.records)


@pytest.mark.parametrize("content", [None, b"", b'{"format": "depl-r'])
def test_a_run_that_left_no_whole_line_begins_anew(policy, log, content):
    if content is not None:
        log.write_bytes(content)
    controller = Controller.resume(policy, log)
    assert controller.decision is None
    controller.start(1.0)
    assert len(lines(log)) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [("a\0b", "null byte"), ("a\ud800", "surrogates"), (7, "the name of a file"), (b"\0", "null")],
)
@pytest.mark.parametrize("begin", [Controller, Controller.resume])
def test_a_log_that_is_no_name_of_a_file_is_refused(policy, name, words, begin):
    assert words in str(refusal(begin, policy, name))


CHANGED = """
0 | depl-run | depl-plan | line 1 does not open a 'depl-run' log
0 | "version": 1 | "version": 2 | version 2 is not known
2 | 0.82 | 0.84 |
2 | 0.82 | 0.2 | line 3 is not what this policy decides: ledger is 9 and would be 2
2 | "switch" | "continue" | line 3 is not what this policy decides: decision is 'continue'
2 | "loss": 0.82 | "loss": "low" | line 3: a loss is a number
2 | { | {"mine": null, | line 3 is not what this policy decides: mine is None and would be
2 | "cost": 1.0, | | line 3 is not what this policy decides: cost is missing and would be 1.0
2 | { | | line 3 is not JSON
2 | { | []{ | line 3 is not JSON
"""


@pytest.mark.parametrize("row", CHANGED.strip().splitlines())
def test_a_log_that_was_changed_is_refused_with_its_line(policy, log, row):
    line, old, new, words = (cell.strip() for cell in row.split("|"))
    begun(policy, log, 3)
    text = log.read_text(encoding="utf-8").splitlines()
    text[int(line)] = text[int(line)].replace(old, new, 1)
    log.write_text("\n".join(text) + "\n", encoding="utf-8")
    if not words:  # the loss is in the same cell, and so all is as it was but the next noise
        assert Controller.resume(policy, log).epoch == 2
        return
    assert words in str(refusal(Controller.resume, policy, log))


def test_a_second_writer_waits_for_the_first_and_is_then_refused(policy, log):
    one, two = begun(policy, log, 1), Controller.resume(policy, log)
    writer = threading.Thread(target=one.observe, args=(0.82,))
    with log.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
        assert len(lines(log)) == 2
    writer.join()
    assert len(lines(log)) == 3
    assert "something else has written to it" in str(refusal(two.observe, 0.82))
    assert two.epoch == 0


def test_where_the_log_cannot_be_written_nothing_is_decided(policy, tmp_path):
    assert "cannot be written" in str(refusal(Controller, policy, tmp_path / "missing" / "run.jsonl"))
    log = tmp_path / "run.jsonl"
    controller = begun(policy, log, 1)
    log.unlink()
    log.mkdir()
    assert "cannot be written" in str(refusal(controller.observe, 0.82))
    assert controller.epoch == 0


def test_a_log_of_another_run_or_with_lines_after_its_end_is_refused(policy, log):
    begun(policy, log)
    assert "run.jsonl: exists already; go on with it by" in str(refusal(Controller, policy, log))
    other = by_hand(state="observed", name="other")
    assert "is the log of another policy, 'by hand' (fingerprint" in str(
        refusal(Controller.resume, other, log)
    )
    with log.open("a", encoding="utf-8") as file:
        file.write('{"epoch": 4, "loss": 0.1}\n')
    assert "line 6 stands after the end of the run" in str(refusal(Controller.resume, policy, log))


# --- plans, and planning again after every epoch --------------------------------------------------------


UNLUCKY = Fraction(5, 19)
GAINS = {
    "full": ((2, 1 - UNLUCKY), (1, UNLUCKY)),
    "distilled": ((2, 1 - VIOLATION / UNLUCKY), (1, VIOLATION / UNLUCKY)),
    "pruned": ((1, 1 - VIOLATION), (0, VIOLATION)),
}


def promised(log=None):
    return Controller(promised_plan(), log, instance=spent_promise(), replan=True, method="exact")


def outcomes(run, loss, share=Fraction(1)):
    """Probability, cost and reason of all ways that a run may go."""
    for gain, probability in GAINS[run.decision.model]:
        there = copy.deepcopy(run)
        decision = there.observe(loss - gain)
        if isinstance(decision, Stop):
            yield share * probability, there.cost, decision.reason
        else:
            yield from outcomes(there, loss - gain, share * probability)


def test_the_promise_is_kept_exactly_where_planning_again_for_omega_spends_it():
    run = promised()
    assert run.start() == Continue("full", "site", 0, 3.0)
    ends = list(outcomes(run, 3.0))
    assert sum(share for share, _, _ in ends) == 1
    assert sum(share for share, _, reason in ends if reason == "reached") == 1 - VIOLATION
    assert float(sum(share * Fraction(cost) for share, cost, _ in ends)) == pytest.approx(4 + 5 / 19)


def test_a_run_goes_on_from_its_log_without_solving_anything_again(tmp_path, monkeypatch):
    log, short = tmp_path / "run.jsonl", tmp_path / "short.jsonl"
    run = promised(log)
    run.start()
    assert run.observe(2.0) == Switch("distilled", "site", 1, 2.0)
    assert (run.rest.schedule, run.replanning.holds_over_all_runs) == ((("distilled", "site"),), True)
    assert "as the old rest says" in run.why()
    text, begun = log.read_text(encoding="utf-8"), run.rest
    assert run.observe(0.0) == Stop("reached", 2, 0.0)
    assert "stopped after epoch 2" in str(refusal(run.observe, 0.0))
    monkeypatch.setattr(replanned, "solve", None)
    monkeypatch.setattr(replanned, "replan", None)
    given = {"instance": spent_promise(), "replan": True, "method": "exact"}
    again = Controller.resume(promised_plan(), log, **given)
    assert (again.decision, again.records, again.cost) == (run.decision, run.records, run.cost)
    short.write_text(text, encoding="utf-8")
    again = Controller.resume(promised_plan(), short, **given)
    assert (again.rest, again.replanning) == (begun, None)
    monkeypatch.undo()
    assert again.observe(0.0) == run.decision
    assert short.read_text(encoding="utf-8") == log.read_text(encoding="utf-8")


def test_a_log_with_another_plan_is_refused(tmp_path):
    log = tmp_path / "run.jsonl"
    promised(log).start()
    begun, plan, rest = log.read_text(encoding="utf-8").partition('"plan": {')
    log.write_text(begun + plan + rest.replace('"full"', '"pruned"'), encoding="utf-8")
    told = str(refusal(Controller.resume, promised_plan(), log, instance=spent_promise(), replan=True))
    assert "line 2 is not what this policy decides: next_model is 'full' and would be" in told


def test_a_run_of_an_instance_begins_with_the_plan_that_is_found_and_counts_on_the_time_it_took(tmp_path):
    log, instance = tmp_path / "run.jsonl", depl.load("tiny")
    run = Controller(instance, log, method="exact")
    assert run.start(15.0).kind == "continue"
    assert run.rest.schedule == depl.solve(instance, "exact").plan.schedule
    assert run.last_epoch == instance.target.maximum_epochs
    assert run.models == tuple(sorted(item.name for item in instance.models))
    assert run.clusters == tuple(sorted(item.name for item in instance.clusters))
    assert "elapsed_time" in str(refusal(run.observe, 11.0, elapsed_time=-1.0))
    assert run.observe(11.0, elapsed_time=6.0) == Stop("deadline", 1, 11.0)
    assert Controller.resume(instance, log, method="exact").records == run.records


@pytest.mark.parametrize(
    ("loss", "stop"), [(1.0, Stop("reached", 0, 1.0)), (math.inf, Stop("abandoned", 0, math.inf, DIVERGED))]
)
def test_a_run_that_stops_before_its_first_epoch_is_read_from_its_log(loss, stop, tmp_path):
    instance = depl.load("tiny").replace(initial_model="full")
    assert Controller(instance, tmp_path / "run.jsonl", method="exact").start(loss) == stop
    assert Controller.resume(instance, tmp_path / "run.jsonl").decision == stop
    late = Controller(depl.Plan(), instance=instance.replace(initial_loss=15.0), replan=True)
    assert late.start() == Stop("deadline", 0, 15.0)


def test_what_is_not_known_of_a_run_is_refused_with_what_to_do():
    assert "no plan was found" in str(
        refusal(Controller(depl.load("tiny").replace(maximum_loss=-50.0), method="exact").start)
    )
    assert "are for replan=True; leave them out" in str(
        refusal(Controller, promised_plan(), instance=spent_promise(), method="exact")
    )
    followed = Controller(promised_plan(), instance=spent_promise())
    followed.start(3.0)
    assert "elapsed_time: is for runs that are planned again" in str(refusal(followed.observe, 2.0, 1.0))


SWITCHING = plan(("full", "cloud", 2), ("pruned", "cloud", 2), ("pruned", "edge", 2), data=["archive"])


def test_a_run_stops_as_soon_as_its_target_is_reached_and_pays_for_its_epochs_alone(tiny):
    controller, target = Controller(SWITCHING, instance=tiny), tiny.target.maximum_loss
    controller.start(50.0)
    assert controller.observe(math.nextafter(target + 1e-3, math.inf)).kind == "switch"
    assert controller.observe(target) == Stop("reached", 2, target)
    begun = Plan(data=SWITCHING.data[:1], epochs=SWITCHING.epochs[:2])
    assert math.isclose(controller.cost, depl.evaluate(tiny, begun).cost, rel_tol=1e-12)
    assert "from" not in controller.why()


def test_a_model_that_may_not_be_the_last_is_trained_on_below_the_target(tiny):
    controller = Controller(SWITCHING, instance=tiny.replace(deployable=("pruned",)))
    assert [controller.start(1.0).kind, controller.observe(1.0).kind] == ["continue", "switch"]
    assert controller.observe(1.0) == Stop("reached", 2, 1.0)
    with pytest.raises(InvalidInputError, match=r"ends with 'pruned', which may not be the last model"):
        Controller(SWITCHING, instance=tiny.replace(deployable=("full",)))


def test_a_plan_without_its_instance_and_with_another_one_is_refused(tiny, tmp_path):
    for given in (SWITCHING, SWITCHING.to_json()):
        assert "Controller(plan, instance=instance)" in str(refusal(Controller, given))
    assert "made for another instance" in str(
        refusal(Controller, msgspec.structs.replace(SWITCHING, instance="0" * 64), instance=tiny)
    )
    assert "must be Plan, the path of its file or its JSON text, not dict" in str(
        refusal(Controller, {}, instance=tiny)
    )
    assert "cannot be read" in str(refusal(Controller, tmp_path / "none.json", instance=tiny))
