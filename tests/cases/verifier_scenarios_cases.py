"""Plans that claim scenarios, and scenarios of the user's own, for tests of the verifier."""

import msgspec
import numpy as np

from depl.models.problem.plan import Claims, Plan, ScenarioClaim
from depl.models.scenarios.draws import (
    Scenarios,
    allowed_misses,
    count_misses,
    given_scenarios,
    scenario_losses,
)


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
    return msgspec.structs.replace(
        plan, claims=Claims(scenarios=claim_of(instance, scenarios, plan, **changes))
    )


def own(instance, gains: list[list[float]]) -> Scenarios:
    """Scenarios of the user's own for one model: a row per scenario, an entry per epoch."""
    return given_scenarios(instance, np.array(gains)[:, :, None])
