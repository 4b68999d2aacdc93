"""Asks every question of the behaviour record and keeps the answers."""

import math
import time
from collections.abc import Callable, Iterable

from depl.benchmarks.behaviour.problems import SEED, Problem
from depl.benchmarks.behaviour.record import Answer, Bound, Left, Record, digest, kept
from depl.benchmarks.behaviour.settings import LEFT_OUT, LOOKS, SCENARIOS, Setting, questions
from depl.benchmarks.measure.provenance import FIELDS, here, today
from depl.models.foundation.errors import DeplError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.methods import Meaning, find
from depl.models.solving.result import Range, Result, Termination
from depl.models.solving.solve import solve
from depl.models.verifier.verify import verify

_MOST_PLANS = 500
"""Plans that the verifier may list to prove a bound again, where it takes up to two seconds by default."""

Wanted = Callable[[str, str], bool]
"""Whether a question, by the names of its problem and its setting, is to be asked."""


def everything(problem: str, setting: str) -> bool:
    """Ask all questions."""
    del problem, setting
    return True


def recorded(
    asked: Iterable[Problem],
    wanted: Wanted = everything,
    tell: Callable[[str], None] = lambda line: None,
    command: str = "",
) -> Record:
    """Solve and keep.

    Parameters
    ----------
    asked : iterable of Problem
    wanted : callable
        Chooses among the questions of these problems.
    tell : callable
        Receives a line after every problem.
    command : str
        Kept in the record: by what it was made.

    Raises
    ------
    KeyboardInterrupt
        If a solve was interrupted.
    """
    date, place = today(), here()
    instances: dict[str, str] = {}
    findings: dict[str, str] = {}
    answers: dict[str, dict[str, Answer]] = {}
    for problem in asked:
        chosen = [setting for setting in questions(problem) if wanted(problem.name, setting.label)]
        if not chosen:
            continue
        instance, scenarios = problem.made()
        instances[problem.name] = instance.fingerprint[:16]
        row = {item.label: answer(instance, scenarios, item, findings) for item in chosen}
        answers[problem.name] = row
        tell(f"{problem.name}: {len(row)} answers in {sum(item.seconds for item in row.values()):.1f} CPU-s")
    return Record(
        seed=SEED,
        scenarios=SCENARIOS,
        looks=LOOKS,
        left_out=tuple(Left(row.settings, row.problems, row.reason) for row in LEFT_OUT),
        instances=instances,
        findings=findings,
        answers=answers,
        date=date,
        command=command,
        **{name: getattr(place, name) for name in FIELDS},
    )


def answer(instance: Instance, own: Scenarios | None, setting: Setting, findings: dict[str, str]) -> Answer:
    """What a setting answers on an instance with or without scenarios of its own.

    New texts of findings are added to ``findings``.
    """
    counts = find(setting.method).meaning is Meaning.SCENARIOS
    scenarios = (own or SCENARIOS) if counts else None
    started = time.process_time()
    try:
        result = solve(instance, setting.method, scenarios=scenarios, options=setting.options, looks=LOOKS)
    except DeplError as error:
        return Answer(refused=_said(error), seconds=_since(started))
    except Exception as error:  # noqa: BLE001 - a crash is an answer, too, and the others are still wanted
        return Answer(refused=f"crash: {_said(error)}", seconds=_since(started))
    seconds = _since(started)
    if result.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    judged = None if result.plan is None else _judged(instance, result.plan, own if counts else None)
    if judged is not None:
        findings[digest(judged)] = judged
    return _answer(result, judged, seconds)


def _judged(instance: Instance, plan: Plan, given: Scenarios | None) -> str:
    """The verifier's findings: what each equation and claim is found to be, without the numbers."""
    draws = None if given is None else (given.improvements, given.switch_losses)
    report = verify(instance, plan, draws, most_plans=_MOST_PLANS)
    return "; ".join(
        f"{item.equation} {item.kind.value}{'' if item.ok else ' and not ok'}" for item in report.findings
    )


def _answer(result: Result, judged: str | None, seconds: float) -> Answer:
    plan = result.plan
    return Answer(
        termination=result.termination.value,
        solution=result.solution.value,
        reason=result.reason,
        cost=_number(result.cost),
        lower_bound=_bound(result.lower_bound),
        dual=None if result.dual is None else _number(result.dual.bound),
        plan=None if plan is None else plan_digest(plan),
        resources=() if plan is None else tuple(kept(epoch.resources) for epoch in plan.epochs),
        training_time=_number(result.training_time),
        expected_loss=_number(result.expected_loss),
        miss=_interval(result.violation),
        quantile=_interval(result.quantile),
        decisions=len(result.decisions),
        findings=None if judged is None else digest(judged),
        seconds=seconds,
    )


def plan_digest(plan: Plan) -> str:
    """Digest of the discrete part of a plan; the order of clusters and datasets does not count."""
    data = sorted((row.cluster, sorted(row.datasets)) for row in plan.data)
    return digest([data, plan.schedule])


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _since(started: float) -> float:
    return round(time.process_time() - started, 2)


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else kept(value)


def _bound(value: float) -> Bound:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return kept(value)


def _interval(value: Range | None) -> tuple[float, float] | None:
    return None if value is None else (kept(value.lower), kept(value.upper))
