"""What every method answers on 152 problems, so that a change of the code shows which answer it changes.

Problems are shipped instances, constructed ones and random ones of one seed; settings are every method that
is shipped, and the variants that the pages name. Solves end by counted looks at the clock and not by the
clock; what could end by the clock is left out. Kept are costs, bounds, plans, certified intervals, the
verifier's findings and the text of every refusal. ``benchmarks/results/behaviour.jsonl.gz`` is the record.
"""

import functools
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Configuration, Draw, Made, Study
from depl.instances import library, shipped
from depl.instances.counterexamples import almost_one_level, short_epochs
from depl.instances.generator import Range, competitive_family, random_instance
from depl.instances.heterogeneous import heterogeneous_instance
from depl.instances.reductions.partition import partition_by_epoch, partition_by_model
from depl.instances.spent_promise import spent_promise
from depl.instances.tiny_sampled import tiny_sampled
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Undeclared
from depl.models.problem.learning import ConstantImprovement
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios, given_scenarios
from depl.models.solving.methods import Meaning, registered
from depl.models.solving.result import Result
from depl.models.verifier.verify import verify

SEED = 20
"""Of all random problems, with the numbers of the family and of the problem behind it."""
_SMALL: dict[str, Range] = {
    "models": (2, 3),
    "clusters": (1, 2),
    "datasets": (1, 2),
    "maximum_epochs": (2, 6),
}
"""Sizes at which every method ends in a second or so; those of the competitive family take up to a minute."""
_LEADING = 3
"""How many problems of a random family are leading ones."""
SCENARIOS = 20
"""S of methods that count, where the problem has no scenarios of its own: few, so that programs are small."""
LOOKS = 10_000
"""Looks at the clock after which a method's time is over: some seconds, and enough for nearly all solves."""
LIMIT = 600.0
"""Seconds after which a solve is no use, and is ended; none of them takes a tenth of it."""
_MOST_PLANS = 500
"""Plans that the verifier may list to prove a bound again, where it takes up to two seconds by default."""
_SLOW = {"random": {"draws": 200}}
"""A method that spends all of a given effort takes less of it, and the default only on leading problems."""
_VARIANTS = ("depl-paper-entropic", "depl-paper-normal", "depl-paper-expected")
_EXPENSIVE = "4 to 20 s each; the middle target stands for them"
LEFT_OUT = (
    ("auto", "*", "it lets methods take turns that are recorded by their own names"),
    ("milp*", "random-*", "HiGHS looks at its own clock only, and may take more than 20 s"),
    ("milp*", "paper-alexnet-deadline*-[57]", _EXPENSIVE),
    ("milp*", "paper-alexnet-deadline*-1[13]", _EXPENSIVE),
)

_Families = Mapping[str, tuple[int, Callable[[np.random.Generator, int], Made]]]
_RANDOM: _Families = {
    "small": (78, lambda rng, _: random_instance(rng, **_SMALL)),
    "random": (4, lambda rng, _: competitive_family(rng, 1)[0]),
    "heterogeneous": (8, lambda rng, index: _heterogeneous(rng, index)),
    "sampled": (20, lambda rng, index: _sampled(rng, index)),
}
"""How many random problems of each family, 110 in all, and how they are drawn."""


def problems() -> dict[str, tuple[Callable[[], Made], bool]]:
    """All problems by their names, in the order of the record, made when they are asked for.

    Of leading ones more settings are asked than of the others: of each shipped family the middle target, of
    each random one the first few.
    """
    found: dict[str, tuple[Callable[[], Made], bool]] = {}
    for entry in shipped.describe():
        for index, target in enumerate(entry.targets or (None,)):
            name = entry.name if target is None else f"{entry.name}-{target}"
            found[name] = partial(library.load, entry.name, target), index == len(entry.targets) // 2
    found |= {name: (make, True) for name, make in _constructed()}
    for number, (family, (count, _)) in enumerate(_RANDOM.items()):
        for index in range(count):
            found[f"{family}-{index}"] = partial(_drawn, family, number, index), index < _LEADING
    return found


def _constructed() -> Iterator[tuple[str, Callable[[], Made]]]:
    """Traced laws at a small K_max, answers known by construction, scenarios beside a law and without any."""
    for name in ("digits-alexnet", "digits-mobilenet"):
        for epochs in (2, 3, 4):
            yield f"{name}-K{epochs}", partial(_cut, name, epochs)
    yield "short-epochs", partial(short_epochs, 24)
    yield "almost-one-level", partial(almost_one_level, 3.0, 20)
    yield "partition-by-epoch", partial(partition_by_epoch, (3, 1, 1, 2, 2, 1))
    yield "no-partition-by-epoch", partial(partition_by_epoch, (9, 1, 1, 1, 1, 1))
    yield "partition-by-model", partial(partition_by_model, (1, 2, 3))
    yield "spent-promise", spent_promise
    yield "tiny-given-scenarios", _with_scenarios
    yield "tiny-without-laws", _without_laws


def _cut(name: str, epochs: int) -> Instance:
    """At a target that most plans of that length meet."""
    instance = library.load(name)
    reached = instance.target.initial_loss * (1 - 0.2 * epochs)
    return instance.replace(maximum_epochs=epochs, maximum_loss=reached)


def _with_scenarios() -> tuple[Instance, Scenarios]:
    tiny = library.load("tiny")
    return tiny, draw_scenarios(tiny, 50, SEED)


def _without_laws() -> tuple[Instance, Scenarios]:
    tiny, drawn = _with_scenarios()
    unknown = ConstantImprovement(noise=Undeclared())
    lawless = tiny.replace(
        models=tuple(msgspec.structs.replace(model, improvement=unknown) for model in tiny.models),
        switches=tuple(msgspec.structs.replace(row, law=Undeclared()) for row in tiny.switches),
        other_switches=Undeclared(),
    )
    return lawless, given_scenarios(lawless, drawn.improvements, drawn.switch_losses)


def _drawn(family: str, number: int, index: int) -> Made:
    """By a seed of its own, whatever comes before it."""
    return _RANDOM[family][1](np.random.default_rng([SEED, number, index]), index)


def _heterogeneous(rng: np.random.Generator, index: int) -> Instance:
    """Two or three clusters, one or two datasets, K_max of 4 to 7."""
    size = {"clusters": 2 + index // 4, "datasets": 1 + index % 2, "maximum_epochs": 4 + index % 4}
    return heterogeneous_instance(rng, models=2, **size)


def _sampled(rng: np.random.Generator, index: int) -> tuple[Instance, Scenarios]:
    """With scenarios of its own; those at odd positions have two clusters, two datasets, or both."""
    *_, last = tiny_sampled(rng, 1 + index % 6)
    return last.instance, last.scenarios


def configurations() -> Iterator[Configuration]:
    """All settings; each label once."""
    for method in registered():
        if method.shipped:
            counts = method.meaning is Meaning.SCENARIOS
            yield Configuration(method.name, LIMIT, scenarios=SCENARIOS if counts else None, looks=LOOKS)
    for name, options in _SLOW.items():
        label = f"{name}-{next(iter(options.values()))}"
        yield Configuration(name, LIMIT, options=options, label=label, looks=LOOKS)
    for name in _VARIANTS:
        base, _, label = name.rpartition("-")
        yield Configuration(base, LIMIT, options={"label": label}, label=name, looks=LOOKS)


def asked(draw: Draw, configuration: Configuration) -> bool:
    """Whether a question is asked."""
    label = configuration.label
    if not draw.labels["leading"] and (label in _SLOW or label in _VARIANTS):
        return False
    return not any(
        fnmatchcase(label, labels) and fnmatchcase(draw.name, problems) for labels, problems, _ in LEFT_OUT
    )


def told(instance: Instance, scenarios: Scenarios | None, result: Result) -> Mapping[str, Any]:
    """What is kept of a result besides cost, bound and violation; nothing that is not there.

    ``plan`` is a digest of its discrete part, ``findings`` what the verifier finds each equation and claim to
    be, ``decisions`` how many the method tells, ``bound`` a lower bound that is infinite.
    """
    plan = result.plan
    answer: dict[str, Any] = {
        "bound": str(result.lower_bound) if math.isinf(result.lower_bound) else None,
        "dual": None if result.dual is None else _kept(result.dual.bound),
        "plan": None if plan is None else _plan_digest(plan),
        "resources": [] if plan is None else [_kept(epoch.resources) for epoch in plan.epochs],
        "training_time": _kept(result.training_time),
        "expected_loss": _kept(result.expected_loss),
        "quantile": result.quantile and [_kept(result.quantile.lower), _kept(result.quantile.upper)],
        "decisions": len(result.decisions) or None,
        "findings": None if plan is None else _findings(instance, plan, scenarios),
    }
    return {name: value for name, value in answer.items() if value is not None and value != []}


def _findings(instance: Instance, plan: Plan, given: Scenarios | None) -> str:
    draws = None if given is None else (given.improvements, given.switch_losses)
    found = verify(instance, plan, draws, most_plans=_MOST_PLANS).findings
    told = ((item.equation, item.kind.value, "" if item.ok else " and not ok") for item in found)
    return "; ".join(f"{equation} {kind}{fault}" for equation, kind, fault in told)


def _plan_digest(plan: Plan) -> str:
    """Ten hexadecimal digits; the order of clusters and datasets does not count."""
    data = sorted((row.cluster, sorted(row.datasets)) for row in plan.data)
    content = msgspec.json.encode([data, plan.schedule], order="deterministic")
    return hashlib.sha256(content).hexdigest()[:10]


def _kept(number: float | None) -> float | None:
    """To twelve significant digits: a thousand times finer than what is compared."""
    return None if number is None or not math.isfinite(number) else float(f"{number:.12g}")


def _draws() -> list[Draw]:
    """Each instance is made once for all that is asked about it."""
    made = functools.lru_cache(maxsize=1)(lambda name: problems()[name][0]())
    found = problems().items()
    return [Draw(name, {"leading": leading}, partial(made, name)) for name, (_, leading) in found]


STUDY = Study(
    name="behaviour",
    summary="What every method answers on 152 problems, with limits that are the same on every machine.",
    draws=_draws,
    configurations=tuple(configurations()),
    asks=asked,
    tells=told,
)
