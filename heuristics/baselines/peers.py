"""Two peers without a plan of their own: everything on the fastest cluster, and the best of random drafts.

- ``fastest-cluster``: one model, all data, the cluster where an epoch of it is shortest with all resources,
  and as few epochs as are certified; the cheapest model of those. What one does who does not orchestrate.
- ``random``: the best of many random drafts, each cut to the fewest epochs that are certified. What chance
  finds when it is given the same exact resources and the same certificate.

Neither proves anything.
"""

import numpy as np

from depl.heuristics.baselines.drafts import Appraiser, Best, Draft, searched, single_model_drafts
from depl.models.problem.instance import Instance
from depl.models.solving.limits import Limits
from depl.models.solving.options import Option
from depl.models.solving.result import Outcome

DRAWS = Option("draws", (int,), "drafts that are drawn", least=1)
OPTIONS = (DRAWS,)
DEFAULT_DRAWS = 1000
"""Random plans. Set by hand: time is in proportion, and the best of twice as many is better on average."""
_MOST_PHASES = 4
"""Phases of a random plan at most. Set by hand: more phases draw plans with more switches."""


def fastest_cluster(instance: Instance, limits: Limits) -> Outcome:
    """One model with all data on the cluster where it is fastest, in the fewest certified epochs."""
    return searched(instance, limits, _one_model)


def random_drafts(instance: Instance, limits: Limits) -> Outcome:
    """The best of many random plans, each with as few epochs as are certified and the cheapest resources."""
    draws = DRAWS.among(limits.options, DEFAULT_DRAWS)
    rng = np.random.default_rng(limits.seed)

    def search(best: Best) -> None:
        for _ in range(draws):
            if limits.expired():
                break
            _consider(best, random_draft(rng, best.appraiser))

    return searched(instance, limits, search)


def random_draft(rng: np.random.Generator, appraiser: Appraiser) -> Draft:
    """K_max epochs in one to four phases of a random model on a random cluster, with random data.

    Half of the drafts give every cluster all data, the others an even draw of each dataset. A phase that may
    not follow the one before is left out, so a draft may have fewer epochs, or none.
    """
    instance, longest = appraiser.instance, appraiser.target.maximum_epochs
    phases = int(rng.integers(1, min(_MOST_PHASES, longest) + 1)) if longest else 0
    ends = sorted(rng.choice(np.arange(1, longest), phases - 1, replace=False).tolist()) if phases > 1 else []
    models: list[int] = []
    clusters: list[int] = []
    for end in (*ends, longest):
        model, cluster = int(rng.integers(len(instance.models))), int(rng.integers(len(instance.clusters)))
        if appraiser.learning.allowed[models[-1] if models else appraiser.start, model]:
            length = end - len(models)
            models += [model] * length
            clusters += [cluster] * length
    names = [item.name for item in instance.datasets]
    everything = rng.random() < 0.5
    data = tuple(frozenset(names) if everything else random_data(rng, names) for _ in instance.clusters)
    return Draft(tuple(models), tuple(clusters), appraiser.within_rules(data))


def _one_model(best: Best) -> None:
    for draft in single_model_drafts(best.appraiser):
        if best.limits.expired():
            break
        _consider(best, draft)


def _consider(best: Best, draft: Draft) -> None:
    """Offer the shortest certified beginning of a draft, if it keeps the time limits."""
    best.looked_at += 1
    short = best.appraiser.shortest(draft)
    if short is not None:
        found = best.appraiser.resources(short)
        if not found.lateness:
            best.offer(short, found.cost)


def random_data(rng: np.random.Generator, names: list[str]) -> frozenset[str]:
    """Each dataset with probability 1/2, one of them where that leaves none."""
    chosen = [name for name, taken in zip(names, rng.random(len(names)) < 0.5, strict=True) if taken]
    return frozenset(chosen or [names[int(rng.integers(len(names)))]])
