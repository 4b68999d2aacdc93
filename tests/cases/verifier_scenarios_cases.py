"""Plans that claim scenarios, their claims altered, and what the verifier finds of them."""

import msgspec
import numpy as np

from depl.models.exact.sampled import SampledProblem
from depl.models.problem.plan import Claims, Plan, ScenarioClaim
from depl.models.scenarios.draws import (
    Scenarios,
    allowed_misses,
    count_misses,
    given_scenarios,
    scenario_losses,
)
from depl.models.verifier.scenarios import DrawnSample, given_sample
from depl.models.verifier.verify import Finding, Report
from tests.oracles.search import sampled
from tests.problems import drawn

changed = msgspec.structs.replace


def claim_of(instance, scenarios: Scenarios, plan: Plan, **changes) -> ScenarioClaim:
    fields = {
        "size": len(scenarios),
        "misses": count_misses(instance, scenario_losses(instance, scenarios, plan)),
        "allowed": allowed_misses(instance, len(scenarios)),
        "digest": scenarios.digest,
        "seed": scenarios.seed,
        "decimals": scenarios.decimals,
    }
    return ScenarioClaim(**(fields | changes))


def claiming(instance, scenarios: Scenarios, plan: Plan, **changes) -> Plan:
    return changed(plan, claims=Claims(scenarios=claim_of(instance, scenarios, plan, **changes)))


def altered(plan: Plan, part: str | None = None, **changes) -> Plan:
    """A plan with other numbers in its claims, or in one part of them."""
    if part is not None:
        changes = {part: changed(getattr(plan.claims, part), **changes)}
    return changed(plan, claims=changed(plan.claims, **changes))


def own(instance, gains: list[list[float]], decimals: int | None = None) -> Scenarios:
    """Scenarios of the user's own for one model: a row per scenario, an entry per epoch."""
    return given_scenarios(instance, np.array(gains)[:, :, None], decimals=decimals)


def arrays(scenarios: Scenarios) -> tuple[np.ndarray, np.ndarray]:
    return scenarios.improvements, scenarios.switch_losses


def the(report: Report, equation: str) -> Finding:
    """The only finding on an equation or a claim."""
    (found,) = (finding for finding in report.findings if finding.equation == equation)
    return found


def failing(report: Report) -> set[str]:
    return {finding.equation for finding in report.failures}


def problems(seed: int, count: int) -> list[SampledProblem]:
    """So small that all sequences can be written out; some go on from a model, half are rounded."""
    found = []
    ranges = {"maximum_epochs": (2, 3), "clusters": (1, 2), "datasets": (1, 2), "models": 2}
    for index, instance in enumerate(drawn(seed, count, **ranges)):
        begun = instance.models[1].name if index % 3 == 1 else None
        found.append(sampled(instance.replace(initial_model=begun), 20, index, (None, 2)[index % 2]))
    return found


def sample_of(problem: SampledProblem) -> DrawnSample:
    return given_sample(arrays(problem.scenarios), problem.scenarios.decimals)
