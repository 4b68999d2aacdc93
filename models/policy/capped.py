"""Processes in which stages may last only so long: what a policy promises can then rest on more runs.

Which runs lend residuals is decided by the longest stage that a policy may train
(`depl.models.policy.counted`), and a table over all losses trains very long stages where a loss would be most
unusual. With a *cap* no policy of the process does: where a stage has lasted so long, the node has no
training that goes on with it. Nor does a stage begin later than those of the runs that lend to it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from depl.models.policy.process import Process, Training
from depl.models.policy.stages import Kind, kind_of, stages
from depl.models.problem.affine_law import Position, following


@dataclass(frozen=True, order=True)
class Caps:
    """Most epochs of a first stage, and of every stage after it."""

    first: int
    later: int


def capped(process: Process, caps: Caps) -> Process:
    """The process without the trainings that exceed the caps, and without the nodes behind them."""
    return _restricted(
        process, lambda place: place.age <= (caps.first if place.previous is None else caps.later)
    )


def begun_by(process: Process, latest: Mapping[Kind, int]) -> Process:
    """The process without stages that begin after more epochs than given, or whose kind is not given."""
    return _restricted(process, lambda place: place.start <= latest.get(kind_of(place), -1))


def lengths(process: Process) -> Caps:
    """The longest first stage and the longest later one of a process; 0 where there is none."""
    places = _stages(process).values()
    return Caps(
        max((place.age for place in places if place.previous is None), default=0),
        max((place.age for place in places if place.previous is not None), default=0),
    )


def _restricted(process: Process, allowed: Callable[[Position], bool]) -> Process:
    """The process without the trainings that lead to a stage that is not allowed."""
    found: dict[int, Position | None] = {start.node: None for start in process.starts}
    kept: list[int] = []
    trainings: dict[int, tuple[Training, ...]] = {}
    for number, node in enumerate(process.nodes):  # later epochs stand behind earlier ones
        if number not in found:
            continue
        kept.append(number)
        going = []
        for training in node.trainings:
            place = following(found[number], (training.model, training.cluster))
            if allowed(place):
                found[training.following] = place
                going.append(training)
        trainings[number] = tuple(going)
    numbers = {old: new for new, old in enumerate(kept)}
    nodes = tuple(
        replace(
            process.nodes[old],
            trainings=tuple(replace(item, following=numbers[item.following]) for item in trainings[old]),
        )
        for old in kept
    )
    starts = tuple(replace(start, node=numbers[start.node]) for start in process.starts)
    return replace(process, nodes=nodes, starts=starts)


def _stages(process: Process) -> dict[int, Position]:
    return stages(process.nodes, (start.node for start in process.starts))
