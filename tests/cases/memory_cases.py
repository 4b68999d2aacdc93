"""Tiny traced laws, instances that have them, and what their schedules cost by hand; used by tests only."""

import itertools

import msgspec
import numpy as np

from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import Load
from depl.models.problem.instance import ComputeTable, Dataset
from depl.models.problem.traced_law import FittedJump, FittedStep, RecordedRun, Stage, TracedLaw
from tests.oracles.traced_law import places, regressor
from tests.problems import instance, model, site

FULL, CUT, FAR = ("full", "edge"), ("cut", "edge"), ("cut", "far")


def run_of(stages, losses):
    """A run through stages, given as model on cluster and length."""
    parts = tuple(Stage(model=pair[0], cluster=pair[1], epochs=length) for pair, length in stages)
    return RecordedRun(stages=parts, losses=tuple(float(loss) for loss in losses))


def hand_loads(given, schedule):
    """What every epoch asks for, from the fields of the instance."""
    (data,) = given.datasets
    volume = data.volume if data.work is None else data.work
    found = []
    for k, (model_name, cluster_name) in enumerate(schedule, start=1):
        net = next(item for item in given.models if item.name == model_name)
        place = next(item for item in given.clusters if item.name == cluster_name)
        work = net.demand * volume
        if net.compute is not None:
            (table,) = net.compute
            work = table.epochs[k - 1]
        price, wait = place.nodes * place.unit_cost, net.size / place.bandwidth
        found.append(Load(work / place.nodes, price, place.capacity, wait))
    return found


def cheapest_cost(given, schedule):
    """With transfers; infinite if the time limits cannot be kept."""
    target = given.target
    found = allocate(hand_loads(given, schedule), target.maximum_time, target.round_deadline)
    moved = {cluster for _, cluster in schedule}
    return found.cost + sum(row.cost for row in given.transfers if row.cluster in moved)


def every_schedule(given):
    """All of up to K_max epochs, whether or not a run resembles them."""
    kinds = [(net.name, cluster.name) for net in given.models for cluster in given.clusters]
    lengths = range(1, given.target.maximum_epochs + 1)
    return [schedule for length in lengths for schedule in itertools.product(kinds, repeat=length)]


def instance_of(document, **target):
    """Models ``full`` and ``cut`` on clusters ``edge`` and ``far``; the target as given."""
    given = {"initial_loss": 50.0, "maximum_loss": 1.0, "maximum_epochs": 4, "maximum_time": 20.0}
    return instance(
        model("full", 1, 4, 2),
        model("cut", 1, 1.5, 1),
        name="traced",
        clusters=(site("edge", 8, 4, 3), site("far", 5, 1, 1, nodes=2)),
        datasets=(Dataset(name="data", volume=3, work=2),),
        transfers={("data", "far"): 0.75},
        traced_law=document,
        **given | target,
    )


def with_tables(given, rng):
    """The first model computes by a table of its own, one epoch for nothing."""
    first, *others = given.models
    work = rng.uniform(1, 9, given.target.maximum_epochs)
    work[-1] = 0.0
    table = (ComputeTable(epochs=tuple(work.tolist())),)
    return given.replace(models=(msgspec.structs.replace(first, demand=1.0, compute=table), *others))


def random_law(rng, **fields):
    """Two or three kinds of epochs in two to four designs, of 6 to 8 runs of which two differ.

    Coefficients are roughly fitted, with retentions of 0 among them, so that mean losses stay where runs
    have been as a rule and leave it now and then.
    """
    kinds = [FULL, CUT, FAR] if rng.random() < 0.6 else [FULL, FAR]
    designs = _designs(rng, kinds)
    runs = []
    for stages in designs:
        length = sum(epochs for _, epochs in stages)
        drop = np.exp(-0.3 * np.arange(length + 1))
        drawn = [np.round(2 * drop * rng.uniform(0.85, 1.15, length + 1), 3) for _ in range(2)]
        runs += [run_of(stages, drawn[int(rng.integers(2))]) for _ in range(int(rng.integers(6, 9)))]
    order = rng.permutation(len(runs))
    return fitted([runs[index] for index in order], rng, **fields)


def _designs(rng, kinds):
    designs = []
    for _ in range(int(rng.integers(2, 5))):
        first = kinds[0] if rng.random() < 0.8 else kinds[-1]
        second = kinds[int(rng.choice([index for index, kind in enumerate(kinds) if kind != first]))]
        stages = [(first, int(rng.integers(1, 4))), (second, int(rng.integers(1, 4)))]
        if rng.random() < 0.25:
            third = kinds[int(rng.choice([index for index, kind in enumerate(kinds) if kind != second]))]
            stages.append((third, 1))
        designs.append(stages)
    return designs


def fitted(runs, rng, **fields):
    """A law with random retentions and slopes, and intercepts that leave residuals of mean zero.

    About a third of the pairs of a model and its predecessor have steps of their own.
    """
    told = np.log if fields.get("scale") == "log" else np.asarray
    pools = {}
    own = {}
    for run in runs:
        trained = tuple(stage.trained for stage in run.stages for _ in range(stage.epochs))
        for k, place in enumerate(places(trained), start=1):
            pair = (place.previous, place.trained)
            seen = *told(run.losses[k - 1 : k + 1]).tolist(), regressor(place.start)
            if place.previous is not None and place.age == 1:
                pools.setdefault(pair, []).append(seen)
                continue
            after = place.previous if own.setdefault(pair, rng.random() < 1 / 3) else None
            for previous in (None,) if after is None else (after, None):
                key = (place.trained, place.previous is None, place.age, previous)
                pools.setdefault(key, []).append(seen)
    rows = [_row(key, np.array(pool), rng) for key, pool in pools.items()]
    return TracedLaw(
        runs=tuple(runs),
        steps=tuple(row for row in rows if isinstance(row, FittedStep)),
        jumps=tuple(row for row in rows if isinstance(row, FittedJump)),
        **fields,
    )


def _row(key, pool, rng):
    before, after, start = pool.T
    retention = float(rng.choice([0.0, 0.25, 0.6, 0.9]))
    slope = float(rng.choice([0.0, 0.0, 0.03, -0.06]))
    intercept = float(np.round(np.mean(after - slope * start - retention * before), 4))
    numbers = {"intercept": intercept, "retention": retention, "start_slope": slope}
    if len(key) == 2:
        pooled = bool(rng.random() < 0.2)
        return FittedJump(**_names(key[0], "previous_"), **_names(key[1]), pooled=pooled, **numbers)
    trained, first, age, previous = key
    low = age - 1 if age > (1 if first else 2) and rng.random() < 0.3 else age
    named = {} if previous is None else _names(previous, "previous_")
    return FittedStep(**_names(trained), **named, first=first, age=age, ages=(low, age), **numbers)


def _names(trained, prefix=""):
    return {f"{prefix}model": trained[0], f"{prefix}cluster": trained[1]}
