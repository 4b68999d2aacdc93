"""Plans that claim scenarios, their claims altered, and what the verifier finds of them."""

import msgspec
import numpy as np

from depl.models.problem.plan import Claims, ScenarioClaim
from depl.models.scenarios.draws import (
    allowed_misses,
    count_misses,
    given_scenarios,
    scenario_losses,
)
from depl.models.verifier.scenarios import given_sample
from tests.oracles.search import sampled
from tests.problems import drawn

changed = msgspec.structs.replace


def claim_of(instance, scenarios, plan, **changes):
    fields = {
        "size": len(scenarios),
        "misses": count_misses(instance, scenario_losses(instance, scenarios, plan)),
        "allowed": allowed_misses(instance, len(scenarios)),
        "digest": scenarios.digest,
        "seed": scenarios.seed,
        "decimals": scenarios.decimals,
    }
    return ScenarioClaim(**(fields | changes))


def claiming(instance, scenarios, plan, **changes):
    return changed(plan, claims=Claims(scenarios=claim_of(instance, scenarios, plan, **changes)))


def altered(plan, part=None, **changes):
    """A plan with other numbers in its claims, or in one part of them."""
    if part is not None:
        changes = {part: changed(getattr(plan.claims, part), **changes)}
    return changed(plan, claims=changed(plan.claims, **changes))


def own(instance, gains, decimals=None):
    """Scenarios of the user's own for one model: a row per scenario, an entry per epoch."""
    return given_scenarios(instance, np.array(gains)[:, :, None], decimals=decimals)


def arrays(scenarios):
    return scenarios.improvements, scenarios.switch_losses


def the(report, equation):
    """The only finding on an equation or a claim."""
    (found,) = (finding for finding in report.findings if finding.equation == equation)
    return found


def failing(report):
    return {finding.equation for finding in report.failures}


def problems(seed, count):
    """So small that all sequences can be written out; some go on from a model, half are rounded."""
    found = []
    ranges = {"maximum_epochs": (2, 3), "clusters": (1, 2), "datasets": (1, 2), "models": 2}
    for index, instance in enumerate(drawn(seed, count, **ranges)):
        begun = instance.models[1].name if index % 3 == 1 else None
        found.append(sampled(instance.replace(initial_model=begun), 20, index, (None, 2)[index % 2]))
    return found


def sample_of(problem):
    return given_sample(arrays(problem.scenarios), problem.scenarios.decimals)
