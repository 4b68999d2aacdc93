"""What a sample proves about a plan: the count on the sample it was chosen on, and on a fresh one.

A plan that was optimised on S scenarios misses fewer of them than it will miss later (optimism), so its
promise is judged on scenarios that the optimisation never saw, with a Clopper-Pearson interval.
"""

import numpy as np

from depl.models.evaluation.evaluate import law_of_end
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan, ScenarioClaim
from depl.models.risk.sampling import MonteCarloEstimate, monte_carlo_violation
from depl.models.scenarios.draws import Scenarios, allowed_misses, count_misses, scenario_losses

FRESH_SIZE = 10_000
"""Fresh draws on which a plan is judged: set by hand. A share of 1 % is known to 10 %; four times as many
halve that, in four times the time."""


class ScenarioEvidence(ScenarioClaim, frozen=True, kw_only=True, omit_defaults=False):
    """Counts on the scenarios of a solve, and on fresh ones.

    Attributes
    ----------
    fresh : MonteCarloEstimate or None
        Count on a second sample, drawn from the laws, with its Clopper-Pearson interval; None without laws,
        or where there was no time for it.
    """

    fresh: MonteCarloEstimate | None


def scenario_evidence(
    instance: Instance,
    scenarios: Scenarios,
    plan: Plan,
    rng: np.random.Generator | None,
    fresh_size: int = FRESH_SIZE,
) -> ScenarioEvidence:
    """Count the misses of a plan on its scenarios, and on ``fresh_size`` new draws by ``rng``, if given."""
    law, target, fresh = law_of_end(instance, plan), instance.target.maximum_loss, None
    if instance.declares_laws and rng is not None:
        beyond = float(law.beyond)
        fresh = monte_carlo_violation(law.scaled, law.limit(target), fresh_size, rng, beyond=beyond)
    return ScenarioEvidence(
        size=len(scenarios),
        misses=count_misses(instance, scenario_losses(instance, scenarios, plan)),
        allowed=allowed_misses(instance, len(scenarios)),
        seed=scenarios.seed,
        decimals=scenarios.decimals,
        digest=scenarios.digest,
        fresh=fresh,
    )
