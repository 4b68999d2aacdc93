"""Attempts as a frame of pandas, each beside what all of them prove of the question that it answers.

Under the law a question is an instance, whichever suites hold it. Under scenarios it is an instance and a
sample, that is a number and a seed: optima of different samples, or of a sample and of the law, are different
things. A plan that the verifier accepted is a fact. A proof, or a bound, that such a plan contradicts is
wrong, so nothing is compared with it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict

from depl.benchmarks.measure.attempt import Attempt, Task
from depl.benchmarks.measure.catalogue import all_suites
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import installing
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.methods import Meaning

try:
    import pandas
except ImportError as error:
    raise InvalidInputError(f"tables of attempts need pandas: {installing('tables')}") from error

pd: Any = pandas
Frame = Any
"""A frame of pandas, which has no types here."""
TOLERANCE = 1e-7
"""Relative amount up to which a bound above a cost, or a cost below an optimum, is put down to rounding."""
_NUMBERS = (
    *("cost", "lower_bound", "wall_seconds", "solve_seconds", "solve_cpu_seconds"),
    *("total_seconds", "peak_gibibytes"),
)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def frame_of(attempts: Iterable[Attempt]) -> Frame:
    """A row for every ``attempt``, with its fields, those of its task, and what `with_references` adds.

    They are in the order of their tasks, whenever they ended. ``question`` numbers the questions, and
    ``drawn`` is the sample of one under scenarios.

    Raises
    ------
    InvalidInputError
        If attempts on an instance of one name were made on different instances.
    """
    known = ordered(list(attempts))
    hashes, questions, rows = _hashes(known), dict[object, int](), []
    for item in known:
        task, sample = item.task, None
        if item.meaning == Meaning.SCENARIOS.value:
            sample = (int(item.settings.get("scenarios") or DEFAULT_SCENARIOS), task.seed)
        place = (task.suite, task.version, task.instance)
        question = (hashes.get(place, place), item.meaning, sample)
        number = questions.setdefault(question, len(questions))
        own = {"attempt": item, "drawn": sample, "question": number}
        rows.append({**asdict(item), **asdict(task), **own})
    columns = [*Attempt.__struct_fields__, *Task.__struct_fields__, "attempt", "drawn", "question"]
    return with_references(pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(_NUMBERS, float)))


def with_references(rows: Frame) -> Frame:
    """Rows with ``question``, ``ending``, ``cost`` and ``lower_bound``, beside what they come to together.

    Of the question: the ``cheapest`` of all verified plans (infinite without one), the proved ``optimum``
    (not a number if none was proved, or a cheaper plan refutes the proof), what was ``called`` optimal
    (infinite if nothing was), the greatest lower ``bound`` that no plan contradicts (minus infinity without
    one), whether it is ``feasible``, ``infeasible`` or ``disputed``. Of the row: whether its proof
    ``stands``, and its ``ratio`` to the optimum.
    """

    def best(values: Frame, how: str) -> Frame:
        return values.groupby(rows["question"]).transform(how)

    cost, proves = rows["cost"].fillna(np.inf), rows["ending"] == "optimal"
    denies = rows["ending"] == "infeasible"
    cheapest, called = best(cost, "min"), best(cost.where(proves, np.inf), "min")
    feasible, denied = cheapest < np.inf, best(denies, "any").astype(bool)
    optimum = called.where((called < np.inf) & ~below(cheapest, called))
    bounds = [rows["lower_bound"].where(~denies), cost.where(proves)]
    bound = best(np.fmax(*(one.where(~below(cheapest, one)) for one in bounds)), "max")
    return rows.assign(
        cheapest=cheapest,
        called=called,
        optimum=optimum,
        bound=bound.fillna(-np.inf),
        feasible=feasible,
        infeasible=denied & ~feasible,
        disputed=((called < np.inf) & optimum.isna()) | (denied & feasible),
        stands=(denies & ~feasible) | (proves & optimum.notna() & ~below(optimum, cost)),
        ratio=ratio(rows["cost"], optimum),
    )


def below(cost: Any, bound: Any) -> Any:
    """Whether costs lie below bounds by more than rounding."""
    return cost < bound - np.where(np.isfinite(bound), TOLERANCE * np.abs(bound), 0.0)


def ratio(cost: Frame, bound: Frame) -> Frame:
    """Cost over bound: 1 where both are 0, infinite where only the bound is not positive."""
    over = (cost / bound.where(bound > 0)).where(bound > 0, np.inf)
    return over.mask(cost == bound, 1.0).where(cost.notna() & bound.notna())


def _hashes(attempts: Sequence[Attempt]) -> Mapping[tuple[str, int, str], str]:
    """Hash of the instance of every suite, version and name; none where no worker lived to build it."""
    seen: dict[tuple[str, int, str], str] = {}
    for attempt in attempts:
        task = attempt.task
        if attempt.instance_hash:
            known = seen.setdefault((task.suite, task.version, task.instance), attempt.instance_hash)
            if known != attempt.instance_hash:
                raise InvalidInputError(
                    f"instance {task.instance!r} of suite {task.suite!r}, version {task.version}, stands for "
                    f"two different instances ({known:.12} and {attempt.instance_hash:.12}): results of "
                    "different code are mixed; keep those of one commit, or raise the version of the suite"
                )
    return seen


def ordered(attempts: Sequence[Attempt]) -> list[Attempt]:
    """By suite, instance, configuration and seed, whenever they ended."""
    places = {
        (suite, label): place
        for suite in {attempt.task.suite for attempt in attempts}
        for place, label in enumerate(configurations(attempts, suite))
    }

    def key(attempt: Attempt) -> tuple[object, ...]:
        task = attempt.task
        place = places[task.suite, task.configuration]
        return task.suite, task.version, natural(task.instance), place, task.seed

    return sorted(attempts, key=key)


def configurations(attempts: Sequence[Attempt], suite: str) -> list[str]:
    """Labels in the order of the suite, if it is a shipped one; the others after them, by name."""
    known = all_suites().get(suite)
    listed = [] if known is None else [item.label for item in known.configurations]
    present = {attempt.task.configuration for attempt in attempts if attempt.task.suite == suite}
    return [label for label in listed if label in present] + sorted(present - set(listed), key=natural)


def natural(name: str) -> tuple[tuple[int, float, str], ...]:
    """A key that sorts ``alexnet-9`` before ``alexnet-13``."""
    parts = _NUMBER.split(name)
    return tuple((0, float(part), "") if index % 2 else (1, 0.0, part) for index, part in enumerate(parts))
