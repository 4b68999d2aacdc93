"""Processes in which stages may last only so long: what a policy promises can then rest on more runs.

Which runs lend residuals is decided by the longest stage that a policy may train
(`depl.models.policy.counted`), and a table over all losses trains very long stages where a loss would be most
unusual. With a *cap* no policy of the process does: where a stage has lasted so long, the node has no
training that goes on with it.
"""

from dataclasses import dataclass, replace

from depl.models.policy.process import Process, Site, Training


@dataclass(frozen=True, order=True)
class Caps:
    """Most epochs of a first stage, and of every stage after it."""

    first: int
    later: int


@dataclass(frozen=True)
class _Stage:
    """Where a node stands: how many epochs of its stage are trained, and whether it is the first one."""

    age: int
    first: bool


def capped(process: Process, caps: Caps) -> Process:
    """The process without the trainings that exceed the caps, and without the nodes behind them."""
    stages = {start.node: _Stage(0, first=True) for start in process.starts}
    kept: list[int] = []
    trainings: dict[int, tuple[Training, ...]] = {}
    for number, node in enumerate(process.nodes):  # later epochs stand behind earlier ones
        if number not in stages:
            continue
        kept.append(number)
        allowed = []
        for training in node.trainings:
            stage = _after(stages[number], node.site, training)
            if stage.age <= (caps.first if stage.first else caps.later):
                stages[training.following] = stage
                allowed.append(training)
        trainings[number] = tuple(allowed)
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


def lengths(process: Process) -> Caps:
    """The longest first stage and the longest later one of a process; 0 where there is none."""
    stages = {start.node: _Stage(0, first=True) for start in process.starts}
    longest = {True: 0, False: 0}
    for number, node in enumerate(process.nodes):
        for training in node.trainings if number in stages else ():
            stage = stages[training.following] = _after(stages[number], node.site, training)
            longest[stage.first] = max(longest[stage.first], stage.age)
    return Caps(longest[True], longest[False])


def switching_ages(process: Process) -> tuple[int, ...]:
    """After how many epochs of a first stage the process may switch, ascending."""
    stages = {start.node: _Stage(0, first=True) for start in process.starts}
    found = set()
    for number, node in enumerate(process.nodes):
        for training in node.trainings if number in stages else ():
            stage = stages[training.following] = _after(stages[number], node.site, training)
            if stages[number].first and not stage.first:
                found.add(stages[number].age)
    return tuple(sorted(found))


def _after(stage: _Stage, site: Site | None, training: Training) -> _Stage:
    if site is None or (training.model, training.cluster) == site:
        return _Stage(stage.age + 1, stage.first)
    return _Stage(1, first=False)
