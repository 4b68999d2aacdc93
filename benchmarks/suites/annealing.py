"""Simulated annealing over drafts: the general search by which a remark of the paper (Sec. V) is judged.

Its energy is the cost with the cheapest resources, and twice the cost of the cheapest single model for each
limit that is missed whole: of time, or of the loss (at least a hundredth). Four chains share 20,000 drafts,
the first from the best single model, the others from the best of 20 random ones; in each the temperature
falls geometrically from a tenth of its first energy to a hundred-thousandth. The cheapest certified draft is
kept.
"""

import functools
import math

import numpy as np

from depl.heuristics.baselines.drafts import Best, Draft, searched, single_model_drafts
from depl.heuristics.baselines.peers import random_draft
from depl.models.problem.instance import Instance
from depl.models.solving.limits import Limits
from depl.models.solving.methods import Registered
from depl.models.solving.result import Outcome

_DRAFTS, _CHAINS, _STARTS, _DRAWS = 20_000, 4, 20, 20
_HOTTEST, _COLDEST, _PENALTY, _LEAST_PENALTY = 0.1, 1e-5, 2.0, 0.01


def annealing(instance: Instance, limits: Limits) -> Outcome:
    """Simulated annealing over models, clusters and data, with exact resources and certified feasibility."""
    rng = np.random.default_rng(limits.seed)
    return searched(instance, limits, lambda best: _chains(best, rng))


ANNEALING = Registered("annealing", annealing, "")


def _chains(best: Best, rng: np.random.Generator) -> None:
    appraiser, target = best.appraiser, best.appraiser.target
    singles = single_model_drafts(appraiser)
    unit = max(min((appraiser.resources(draft).cost for draft in singles), default=0.0), 1e-300)
    fall = max(abs(target.initial_loss - target.maximum_loss), 1e-300)

    @functools.cache
    def energy(draft: Draft) -> float:
        best.looked_at += 1
        asked, (means, deviations) = appraiser.resources(draft), appraiser.moments(draft)
        late = asked.lateness + _LEAST_PENALTY if asked.lateness else 0.0
        if appraiser.promising(float(appraiser.scores(draft)[-1])) and appraiser.met(draft):
            if not late:
                best.offer(draft, asked.cost)
            return asked.cost + _PENALTY * unit * late
        missed = float(means[-1] + appraiser.needed_score * deviations[-1]) - target.maximum_loss
        short = max(_PENALTY * max(missed, 0.0) / fall, _LEAST_PENALTY)
        return asked.cost + unit * (_PENALTY * late + short)

    for chain in range(_CHAINS if singles else 0):
        drawn = singles if not chain else [random_draft(rng, appraiser) for _ in range(_STARTS)]
        kept = [draft for draft in drawn if draft.models and appraiser.keeps_rules(draft)]
        state = first = min((appraiser.shortest(draft) or draft for draft in kept), key=energy, default=None)
        for step in range(_DRAFTS // _CHAINS):
            if best.limits.expired() or state is None or first is None:
                break
            moves = (_neighbour(best, rng, at) for at in [state] * _DRAWS)
            proposed = next(filter(None, moves), None)
            heat = energy(first) * _HOTTEST * (_COLDEST / _HOTTEST) ** (step * _CHAINS / _DRAFTS)
            if proposed and energy(proposed) <= energy(state) - heat * math.log(1 - rng.random()):
                state = proposed


def _neighbour(best: Best, rng: np.random.Generator, draft: Draft) -> Draft | None:
    """A random move: model or cluster of a run, an epoch more or less, two exchanged, data of a cluster."""
    instance, appraiser, epochs = best.appraiser.instance, best.appraiser, len(draft.models)
    rows, data = [list(draft.models), list(draft.clusters)], list(draft.data)
    move, (one, other) = int(rng.integers(6)), (int(k) for k in rng.integers(epochs, size=2))
    if move < 2:
        length = min(1 + int(rng.exponential(epochs / 4) * rng.random()), epochs)
        start = int(rng.integers(epochs - length + 1))
        among = (instance.models, instance.clusters)[move]
        rows[move][start : start + length] = [int(rng.integers(len(among)))] * length
    for row in rows:
        if move == 2:
            row.insert(one, row[one])
        elif move == 3:
            del row[one]
        elif move == 4:
            row[one], row[other] = row[other], row[one]
    if move == 5:
        name = instance.datasets[int(rng.integers(len(instance.datasets)))].name
        for n in set(draft.clusters) if rng.random() < 0.5 else {draft.clusters[one]}:
            data[n] = data[n] ^ {name} or data[n]
    proposed = Draft(tuple(rows[0]), tuple(rows[1]), appraiser.within_rules(data))
    able = 1 <= len(rows[0]) <= appraiser.target.maximum_epochs and appraiser.allowed(rows[0])
    return proposed if able and proposed != draft and appraiser.keeps_rules(proposed) else None
