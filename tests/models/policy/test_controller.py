"""A policy at work: decisions worked out by hand, the ledger, losses that are none, pickles."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import planning
from depl.models.policy.controller import Controller, led
from depl.models.policy.decisions import Continue, Decision, Stop, Switch
from depl.models.policy.grid import Grid, rounded_indices
from depl.models.policy.ledger import first_index, next_index, rounded_up
from depl.models.policy.planning import solve_policy
from depl.models.policy.rules import BEYOND, DIVERGED
from depl.models.problem.laws import Empirical
from tests.cases.decided import decide
from tests.cases.policy_cases import tiny
from tests.cases.policy_files import LARGE, SMALL, by_hand, document, forgetful, logarithmic, training

ROOT = Path(__file__).resolve().parents[3]


def told(controller: Controller, *losses: float) -> list[object]:
    """What is decided after each loss."""
    return [
        controller.observe(loss) if index else controller.start(loss) for index, loss in enumerate(losses)
    ]


DIVERGES = [
    ([*before, loss], Stop("abandoned", len(before), loss, DIVERGED))
    for before in ([], [1.0], [1.0, 0.8, 0.7])
    for loss in (math.inf, -math.inf)
]


@pytest.mark.parametrize(
    ("losses", "last"),
    [
        ([1.0, 0.8, 0.7, 0.31], Stop("deadline", 3, 0.31)),
        ([1.0, 1.6], Stop("abandoned", 1, 1.6)),
        ([1.55], Stop("abandoned", 0, 1.55)),
        ([0.1], Continue(*SMALL, 0, 0.1)),  # small may not be the last
        ([1.0, 0.1], Continue(*SMALL, 1, 0.1)),
        ([1.0, 0.1, 0.1], Switch(*LARGE, 2, 0.1)),
        ([1.0, 0.9, 0.3 + 1e-10], Stop("reached", 2, 0.3 + 1e-10)),
        ([1.01, 0.82, 0.43, 0.29], Stop("reached", 3, 0.29)),  # the ledger is above the target by rounding
        ([1.95], Stop("abandoned", 0, 1.95, BEYOND)),
        ([1.0, 1e300], Stop("abandoned", 1, 1e300, BEYOND)),
        ([-1e300], Continue(*SMALL, 0, -1e300)),
        *DIVERGES,
    ],
)
def test_what_is_decided_after_the_last_of_some_losses(losses: list[float], last: Decision) -> None:
    assert decide(by_hand(), losses) == last


def test_the_ledger_counts_up_and_the_observed_loss_does_not() -> None:
    """0.75 counts as 0.8; the epochs add nothing by chance, so that the ledger stays half a cell above."""
    ledger, observed = Controller(by_hand()), Controller(by_hand(state="observed"))
    for controller in (ledger, observed):
        controller.start(1.05)
    assert (ledger.ledger, observed.ledger) == (11, 11)
    for controller in (ledger, observed):
        controller.observe(0.81)  # noise -0.04 rounds to 0: the ledger falls by 0.2
    assert (ledger.ledger, observed.ledger) == (9, 9)
    ledger.observe(0.49)  # the shift is -0.4, the noise 0.08 counts as 0.1
    observed.observe(0.49)
    assert (ledger.ledger, observed.ledger) == (6, 5)


def test_on_a_scale_of_logarithms_a_loss_of_nothing_is_met_or_refused() -> None:
    text = json.dumps(logarithmic())
    assert decide(text, [1.0, 0.6, 0.0]) == Stop("reached", 2, 0.0)
    assert decide(text, [1.0, 0.6, -2.0]) == Stop("reached", 2, -2.0)
    controller = Controller(text)
    with pytest.raises(InvalidInputError, match="no logarithm"):
        controller.start(0.0)
    assert controller.start(1.0).kind == "continue"
    with pytest.raises(InvalidInputError, match="small may not be the last"):
        controller.observe(0.0)
    assert controller.observe(0.6).epoch == 1


def test_it_is_an_error_to_observe_before_the_start_or_after_the_end_and_to_start_twice() -> None:
    controller = Controller(by_hand())
    with pytest.raises(InvalidInputError, match="has not begun; call start"):
        controller.observe(1.0)
    controller.start(1.0)
    with pytest.raises(InvalidInputError, match="has begun already, and 0 epochs"):
        controller.start(1.0)
    controller.observe(math.nan)
    with pytest.raises(InvalidInputError, match=r"stopped after epoch 1 \(abandoned\); make another"):
        controller.observe(1.0)


@pytest.mark.parametrize("loss", ["0.5", None, True, [1.0, 2.0]])
def test_what_is_no_loss_is_refused_and_the_run_stands_where_it_stood(loss: object) -> None:
    controller = Controller(by_hand())
    with pytest.raises(InvalidInputError, match="loss: a loss is a number"):
        controller.start(loss)  # type: ignore[arg-type]
    assert controller.start(np.float32(1.0)) == Continue(*SMALL, 0, 1.0)


def test_why_names_the_losses_for_which_the_same_is_decided() -> None:
    controller = Controller(by_hand())
    assert controller.why() == ""
    controller.start(1.0)
    assert controller.why() == (
        "continue: train epoch 1 with small on site (after epoch 0 with loss 1, which counts as at most 1; "
        "so up to 1.5)"
    )
    controller.observe(0.82)
    assert controller.why().endswith(
        "(after epoch 1 with loss 0.82, which counts as at most 0.9; so from 0.9 to 1.5)"
    )
    controller.observe(0.2)
    assert controller.why() == (
        "stop, reached: the target is met, and the model of this epoch is kept (after epoch 2 with loss 0.2)"
    )


GRID = Grid(0.1, 0.037, 400, 50, 51)
ANY_LOSS = st.floats(-5, 20)


@given(
    ANY_LOSS,
    st.lists(ANY_LOSS, min_size=1, max_size=5),
    st.floats(-2, 2),
    st.sampled_from([0.0, 0.3, 0.77, 1.0]),
)
@example(1.0, [0.9], -0.1, 1.0)
def test_the_ledger_is_that_of_the_arrays_to_the_last_double(
    first: float, losses: list[float], shift: float, retention: float
) -> None:
    index = first_index(first, GRID.origin, GRID.step)
    assert index == max(0, int(GRID.indices(np.array([first]), up=True)[0]))
    before = first
    for loss in losses:
        if index >= GRID.cells:
            return
        image = int(GRID.images(shift, retention, up=True)[index])
        noise = np.array([loss - (shift + retention * before)])
        expected = max(0, image + int(rounded_indices(noise, GRID.step, up=True)[0]))
        index = next_index(index, before, loss, shift, retention, GRID.origin, GRID.step)
        assert index == expected
        before = loss


@given(ANY_LOSS, st.lists(st.floats(-1, 1), max_size=8), st.sampled_from([0.4, 0.9, 1.0]))
def test_the_loss_of_a_run_is_never_above_its_ledger(
    first: float, noises: list[float], retention: float
) -> None:
    index, loss = first_index(first, GRID.origin, GRID.step), first
    for epoch, noise in enumerate(noises, start=1):
        after = -0.1 + retention * loss + noise
        index = next_index(index, loss, after, -0.1, retention, GRID.origin, GRID.step)
        loss = after
        assert loss <= GRID.origin + GRID.step * (index + 2e-6 * (epoch + 1))


def test_runs_that_it_leads_end_and_cost_as_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sequences of improvements of a small instance, each with its exact probability."""
    monkeypatch.setattr(planning, "GRIDS", (128,))
    values = {"small": (-0.1, 0.1, 0.3, 0.3), "large": (0.1, 0.4, 0.4, 0.1)}
    laws = [Empirical(values=values[name]) for name in ("small", "large")]
    instance = tiny(*laws, prices=(1.0, 2.1), maximum_loss=0.35, quantile_level=0.45, maximum_epochs=3)
    policy = solve_policy(instance, gap=0.0).policy
    assert policy is not None
    ends, costs = [], []
    for places in itertools.product(range(4), repeat=3):
        controller, loss = Controller(policy), 1.0
        decision = controller.start(loss)
        while not isinstance(decision, Stop):
            loss -= values[decision.model][places[decision.epoch]]
            decision = controller.observe(loss)
        ends.append(decision.reason == "reached")
        costs.append(controller.cost)
    assert np.mean(ends) == pytest.approx(policy.certificate.reached, abs=1e-9)
    assert np.mean(costs) == pytest.approx(policy.certificate.cost, abs=1e-9)


def test_numbers_too_great_for_an_index_are_beyond_every_grid() -> None:
    assert rounded_up(1e300, 1e-9) == -rounded_up(-1e300, 1e-9) > 2**60


def test_a_controller_starts_in_a_moment_and_without_the_libraries_that_plan(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text(by_hand().to_json(), encoding="utf-8")
    program = (
        "import sys, time\nimport depl\n"
        "controller = depl.Controller(sys.argv[1], log=sys.argv[2])\n"
        "controller.start(1.0), controller.observe(0.8)\n"
        "depl.Controller.resume(sys.argv[1], sys.argv[2]).why()\n"
        "print({'numpy', 'scipy', 'numba', 'pyomo', 'pandas'} & set(sys.modules), time.process_time())\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    told = [
        subprocess.run(
            [*command, str(tmp_path / log)], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
        for log in "abc"  # the quickest counts: a busy machine makes a process slower
    ]
    assert {loaded for loaded, _ in told} == {"set()"}
    assert min(float(seconds) for _, seconds in told) < 0.3


def changed(path: str, value: object) -> str:
    """The document with another value at a place, such as ``nodes.0.rows``."""
    content = found = document()
    *steps, last = path.split(".")
    for step in steps:
        found = found[int(step)] if isinstance(found, list) else found[step]
    found[int(last) if isinstance(found, list) else last] = value
    return json.dumps(content)


def rows(*ends: tuple[int, int]) -> list[dict[str, int]]:
    return [{"upto": upto, "action": action} for upto, action in ends]


AFTER = "nodes[{}].trainings[0].following"
REFUSED = [
    (changed("format", "depl-plan"), "$.format", "one is needed here; a plan is followed with its instance"),
    (changed("version", 2), "$.version", "version 2 is not known to this depl, which reads 1"),
    (changed("promise", "final"), "$.promise", "Invalid enum value 'final'"),
    (changed("state", "belief"), "$.state", "Invalid enum value 'belief'"),
    (changed("start", 1), "$.start", "names a node after epoch 0"),
    (changed("start", 5), "$.start", "there is no node 5"),
    (changed("maximum_epochs", 2), f"$.{AFTER.format(2)}", "of epoch 3, after maximum_epochs = 2"),
    (changed("maximum_epochs", True), "$.maximum_epochs", "Expected `int`, got `bool`"),
    (changed("grid", None), "$.grid", "Expected `object`, got `null`"),
    (changed("grid.step", 0), "$.grid.step", "Expected `float` > 0.0"),
    (changed("grid.step", 10**400), "$.grid.step", "Number out of range"),
    (changed("grid.scale", "sqrt"), "$.grid.scale", "Invalid enum value 'sqrt'"),
    (changed("nodes.0.rows", rows((15, 0), (18, -1))), "$.nodes[0].rows", "end at 18; the last row ends"),
    (changed("nodes.0.rows", []), "$.nodes[0].rows", "Expected `array` of length >= 1"),
    (changed("nodes.0.rows", rows((15, 0), (15, -1), (19, 0))), "$.nodes[0].rows[1].upto", "does not exceed"),
    (changed("nodes.0.rows", rows((19, 1))), "$.nodes[0].rows[0].action", "there is no training 1"),
    (
        changed("nodes.0.trainings.0", training(SMALL, 2)),
        f"$.{AFTER.format(0)}",
        "epoch 2, not of epoch 1",
    ),
    (
        changed("nodes.1.trainings.0", training(SMALL, 3)),
        f"$.{AFTER.format(1)}",
        "another model or cluster",
    ),
    ("{", "$", "not a JSON document"),
    (json.dumps(document()).replace("30.0", "NaN"), "$", "invalid character (line 1, column 221: 'NaN')"),
    (json.dumps(document())[:-1] + ', "version": 1}', "$.version", "is given twice"),
    (None, "policy", "there is no policy: result.reason says why"),
    (3, "policy", "must be Policy, the path of its file or its JSON text, not int"),
    (type("PolicyResult", (), {})(), "policy", "not PolicyResult; give its policy"),
]


@pytest.mark.parametrize(("policy", "place", "words"), REFUSED)
def test_what_is_no_policy_is_refused_with_place_and_remedy(policy, place, words, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as found:
        Controller(policy)
    assert found.value.path == place
    assert words in found.value.message
    if isinstance(policy, str):
        (tmp_path / "policy.json").write_text(policy, encoding="utf-8")
        with pytest.raises(InvalidInputError) as found:
            Controller(tmp_path / "policy.json")
        assert found.value.path == f"{tmp_path / 'policy.json'}: {place}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"policy.json: cannot be read \(No such file"):
        Controller(tmp_path / "policy.json")
    (tmp_path / "policy.json").write_bytes(b"\xff{}")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        Controller(tmp_path / "policy.json")


def test_a_run_begins_without_its_first_loss_where_nothing_depends_on_it(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    controller = Controller(forgetful(), log=log)
    decision = controller.start()
    assert (decision.kind, decision.model, decision.epoch) == ("continue", "small", 0)
    assert math.isnan(decision.loss)
    assert "which was not evaluated" in controller.why()
    assert controller.observe(0.82) == Switch(*LARGE, 1, 0.82)
    told = Controller(forgetful())
    told.start(1.2)
    assert told.observe(0.82) == controller.decision
    assert told.ledger == controller.ledger
    resumed = Controller.resume(forgetful(), log)
    assert resumed.records == controller.records
    assert resumed.records[0]["loss"] is None
    other = tmp_path / "own.jsonl"
    lines = '{"epoch": 1, "loss": 0.82}', '{"epoch": 7}', '{"loss": 9}', '{"epoch": 2, "loss": 0.4}', ""
    other.write_text("\n".join(lines), encoding="utf-8")
    assert led(Controller(forgetful()), other).decision == Continue(*LARGE, 2, 0.4)
    with pytest.raises(InvalidInputError, match="begins with epoch 1; the loss before the first epoch"):
        led(Controller(by_hand()), other)
    for losses in ([None], [1.0, None]):
        with pytest.raises(InvalidInputError, match="loss: a loss is a number, not None"):
            decide(by_hand(), losses)
