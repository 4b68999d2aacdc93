"""Plans chosen by the toolkit, trained for real afterwards: how often what was promised is kept.

Nothing here looks at a run before its plan is fixed: the seeds are made of the plan. What is promised is that
of a fitted instance, P(l(K) <= l_max) >= omega; what is delivered is a count.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context

import numpy as np

from depl.instances.training.families import Family, family
from depl.instances.training.recording import fresh_seed, schedule_of
from depl.instances.training.runs import Epoch, Run, Task, as_traces, train_run
from depl.models.estimation.binomial import clopper_pearson, refuting_p_value
from depl.models.estimation.certificate import Certificate, Verdict, certify
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.traced_prediction import runs_through
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result
from depl.models.solving.solve import solve
from depl.models.traces.table import Traces, joined

_CHUNK = 25


@dataclass(frozen=True)
class Kept:
    """A promise and how often it was kept.

    Attributes
    ----------
    plan : Plan
    level, target : float
        omega and l_max.
    runs, kept : int
        Fresh runs, and those that ended at the target or below.
    seen : int
        Runs among the traces that went through all of the plan.
    quantile : float
        The omega-quantile that the law has for the plan [loss].
    observed : float
        That of the fresh runs [loss].
    cost : float
    """

    plan: Plan
    level: float
    target: float
    runs: int
    kept: int
    seen: int
    quantile: float
    observed: float
    cost: float

    @property
    def p_value(self) -> float:
        """How likely so few or fewer were kept, were the promise true (one-sided and exact)."""
        return refuting_p_value(self.runs - self.kept, self.runs, self.level)

    def told(self) -> dict[str, object]:
        """As a row of a record."""
        bounds = clopper_pearson(self.runs - self.kept, self.runs, 0.95)
        schedule = self.plan.schedule
        switch = next((k for k in range(1, len(schedule)) if schedule[k] != schedule[k - 1]), len(schedule))
        return {
            "promised": self.level,
            "target": self.target,
            "delivered": self.kept / self.runs,
            "lower": 1 - bounds.upper,
            "upper": 1 - bounds.lower,
            "p_value": self.p_value,
            "runs": self.runs,
            "plan": f"{switch} {schedule[0][0]}, {len(schedule) - switch} {schedule[-1][0]}",
            "runs_before": self.seen,
            "quantile": self.quantile,
            "observed": self.observed,
            "cost": self.cost,
        }


@dataclass(frozen=True)
class Pilot:
    """What became of a promise that pilot runs had to certify.

    Attributes
    ----------
    rounds : tuple of `depl.models.estimation.certificate.Certificate`
        One per plan that was tried, from runs that nobody had seen.
    kept : Kept or None
        Of the plan that was certified, on further runs.
    """

    rounds: tuple[Certificate, ...]
    kept: Kept | None


class Trainer:
    """Trains runs of one family, on as many processes as there are cores if there is much to do.

    Parameters
    ----------
    name : str
        Of the family.
    workers : int, optional
        1 trains in this process.
    """

    def __init__(self, name: str, workers: int | None = None) -> None:
        self.family = family(name)
        self._workers = (os.cpu_count() or 1) if workers is None else workers

    def traces(self, plan: Plan, seeds: Sequence[int]) -> Traces:
        """The runs of a plan with these seeds."""
        schedule = schedule_of(plan)
        chunks = [list(seeds[start : start + _CHUNK]) for start in range(0, len(seeds), _CHUNK)]
        work = partial(_trained, self.family.name, schedule)
        if self._workers == 1:
            found = [work(chunk) for chunk in chunks]
        else:
            with ProcessPoolExecutor(self._workers, mp_context=get_context("spawn")) as pool:
                found = list(pool.map(work, chunks))
        runs = [run for chunk in found for run in chunk]
        return as_traces([f"fresh-{seed}" for seed in seeds], [schedule] * len(runs), runs)

    def count(self, instance: Instance, result: Result, runs: int, skip: int = 0) -> Kept:
        """Train a plan with fresh seeds and count; ``skip`` seeds have been used before."""
        plan, target = result.plan, instance.target
        if plan is None or result.quantile is None or result.cost is None:
            raise ValueError("there is no plan to train")
        first = fresh_seed(plan) + skip
        table = self.traces(plan, range(first, first + runs)).matrix()
        final = np.sort(table[:, len(plan.epochs)])
        law = None if instance.traced_law is None else instance.traced_law.law
        return Kept(
            plan=plan,
            level=target.quantile_level,
            target=target.maximum_loss,
            runs=runs,
            kept=int((final <= target.maximum_loss).sum()),
            seen=0 if law is None else len(runs_through(law, plan.schedule)),
            quantile=result.quantile.upper,
            observed=float(final[int(np.ceil(target.quantile_level * runs)) - 1]),
            cost=result.cost,
        )


def chosen(instance: Instance, level: float, target: float) -> tuple[Instance, Result]:
    """The cheapest plan for a promise."""
    asked = instance.replace(quantile_level=level, maximum_loss=target)
    return asked, uninterrupted(solve(asked))


def piloted(
    trainer: Trainer,
    traces: Traces,
    setup: Setup,
    level: float,
    target: float,
    pilots: int,
    rounds: int,
    runs: int,
    step: Callable[[str], None] = lambda told: None,
) -> Pilot:
    """Choose a plan, let fresh pilot runs certify it, and if they do not, learn from them and choose again.

    Parameters
    ----------
    pilots, rounds : int
        Runs per plan, and most plans that are tried.
    runs : int
        For the last count, of the plan that was certified.
    """
    certificates: list[Certificate] = []
    for _ in range(rounds):
        instance, result = chosen(fit_instance(traces, setup), level, target)
        if result.plan is None:
            break
        first = fresh_seed(result.plan)
        fresh = trainer.traces(result.plan, range(first, first + pilots))
        found = certify(fresh, target, level, chosen_by=traces, plan=result.plan)
        certificates.append(found)
        step(f"{found.exceedances} of {found.runs} pilot runs exceed: {found.verdict.value}")
        if found.verdict is Verdict.CERTIFIED:
            return Pilot(tuple(certificates), trainer.count(instance, result, runs, skip=pilots))
        traces = joined([traces, fresh])
    return Pilot(tuple(certificates), None)


def _trained(name: str, schedule: Sequence[Epoch], seeds: Sequence[int]) -> list[Run]:
    made = _family(name)
    return [train_run(made[1], schedule, made[0].generator(seed)) for seed in seeds]


@lru_cache(maxsize=4)
def _family(name: str) -> tuple[Family, Task]:
    """A family with its data, loaded once per process."""
    found = family(name)
    return found, found.task()
