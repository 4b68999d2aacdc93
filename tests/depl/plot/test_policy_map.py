"""The map of a policy shows what its controller does, and runs as far as they followed it."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.decisions import Stop
from depl.models.traces.table import Traces
from depl.plot.policy import colours, trained
from depl.showing.policies import GIVE_UP, NO_EPOCH_LEFT, REACHED
from tests.cases.decided import decide
from tests.cases.picture_cases import require_readable
from tests.cases.policy_files import LARGE, SMALL, by_hand, document


def colour_at(axis, epoch, loss):
    """Of the map there; None where nothing is drawn."""
    for collection in axis.collections:
        assert isinstance(collection, PolyCollection)
        for path in collection.get_paths():
            if path.contains_point((epoch, loss)):
                return to_hex(collection.get_facecolor()[0])
    return None


def test_every_place_has_the_colour_of_what_the_controller_decides_there():
    policy = by_hand(state="observed")
    panels = dict(zip((SMALL, LARGE), depl.plot.policy(policy), strict=True))
    known = {action: to_hex(colour) for action, colour in colours(policy).items()}
    ways = {
        (SMALL, 0): [],
        (SMALL, 1): [1.0],
        (SMALL, 2): [1.0, 0.5],
        (LARGE, 2): [1.0, 1.2],
        (LARGE, 3): [1.0, 1.2, 0.8],
    }
    reasons = {"reached": REACHED, "deadline": NO_EPOCH_LEFT, "abandoned": GIVE_UP}
    for (site, epoch), before in ways.items():
        for loss in np.arange(0.05, 1.9, 0.1).tolist():
            decision = decide(policy, [*before, loss])
            assert decision.epoch == epoch
            if isinstance(decision, Stop):
                action = reasons[decision.reason]
            else:
                action = trained((decision.model, decision.cluster))
            assert colour_at(panels[site], epoch, loss) == known[action], (site, epoch, loss)
    assert colour_at(panels[SMALL], 3, 1.0) is None


def test_a_column_of_several_states_is_divided():
    nodes = document()["nodes"]
    nodes.append({**nodes[3], "rows": [{"upto": 19, "action": 0}]})
    nodes[1]["trainings"].append({**nodes[1]["trainings"][1], "following": 5})
    nodes[1]["rows"] = [{"upto": 8, "action": 0}, {"upto": 12, "action": 1}, {"upto": 19, "action": 2}]
    nodes[3]["rows"] = [{"upto": 19, "action": -1}]
    policy = by_hand(nodes=nodes)
    _, lower = depl.plot.policy(policy)
    known = {action: to_hex(colour) for action, colour in colours(policy).items()}
    assert colour_at(lower, 1.75, 1.0) == known[GIVE_UP]
    assert colour_at(lower, 2.25, 1.0) == known[trained(LARGE)]


def runs():
    """The first follows the policy to its end, the second leaves it after epoch 1, the third never begins."""
    models = ["small", "small", "large", "large", "small", "small", "small", "large", *["large"] * 4]
    losses = [1.0, 0.82, 0.5, 0.2, 1.0, 0.9, 0.7, 0.6, 1.0, 0.9, 0.8, 0.7]
    names, epochs = np.repeat(["a", "b", "c"], 4), np.tile(np.arange(4), 3)
    return Traces(names, epochs, np.array(models), np.full(12, "site"), np.array(losses))


def test_runs_are_drawn_as_far_as_they_trained_what_the_policy_decides():
    upper, lower = depl.plot.policy(by_hand(), runs())
    require_readable(upper)
    require_readable(lower)
    points = np.column_stack(upper.lines[0].get_data())
    assert points[~np.isnan(points[:, 0])].tolist() == [[0, 1.0], [1, 0.82], [0, 1.0], [1, 0.9]]
    drawn, stops = (np.column_stack(line.get_data()) for line in lower.lines[:2])
    assert drawn[~np.isnan(drawn[:, 0])].tolist() == [[1, 0.82], [2, 0.5], [2, 0.5], [3, 0.2]]
    assert stops.tolist() == [[3, 0.2]]
    assert len(upper.lines[1].get_xdata()) == 0


def test_the_map_is_drawn_on_axes_of_ones_own_and_what_it_cannot_show_is_refused():
    given = list(Figure(figsize=(6, 6), layout="constrained").subplots(2, 1))
    assert depl.plot.policy(by_hand(), axes=given) == given
    with pytest.raises(InvalidInputError, match="axes: are 1, for 2 panels"):
        depl.plot.policy(by_hand(), axes=given[:1])
    with pytest.raises(InvalidInputError, match="no run has a loss before epoch 1 and trained"):
        depl.plot.policy(by_hand(), runs().select(np.array([2])))
