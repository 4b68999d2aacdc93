"""Data, models and resources decided once each, in one of six orders, and never again (Sec. IV).

Assumed as in the paper is what is not decided yet: all data; the most capable cluster with all its resources.
*Data*: before the models, eq. (7); after them, the set of least transfers with which they are certified.
*Models*: of the certified sequences of fewest epochs, which cost the same (E12), that of least time; all are
listed. *Resources*: after the models, their placement; before them, cluster and x of the cheapest certified
plan of one model on one cluster, and no other cluster is known from then on.
"""

import itertools

import msgspec

from depl.heuristics.baselines.drafts import Appraiser, Draft
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.data.select import select_datasets
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import placement_plan, placement_problem
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan
from depl.models.problem.site_rules import most_capable_cluster
from depl.models.solving.limits import Limits
from depl.models.solving.methods import Registered
from depl.models.solving.options import Option
from depl.models.solving.result import Outcome, Termination

ORDERS = tuple("-".join(order) for order in itertools.permutations(("data", "models", "resources")))
"""All six; the first is the paper's."""


def one_pass(instance: Instance, limits: Limits) -> Outcome:
    """Data, models and resources decided once each, in the order that is asked for; no way back."""
    known, data, plan = instance, frozenset(item.name for item in instance.datasets), Plan()
    for stage in str(limits.options["order"]).split("-"):
        if stage == "models":
            plan = _models(known, data, limits)
        elif stage == "data" and plan.epochs:
            plan = _with_best_data(known, plan)
        elif stage == "data":
            data = frozenset(select_datasets(selection_problem(known)).datasets)
        elif plan.epochs:
            plan = _placed(known, plan)
        else:
            known = _cheapest_place(known, data, limits)
    met = bool(plan.epochs) and evaluate(instance, plan, quantile=False).feasible
    return Outcome(Termination.EXHAUSTED, plan if met else None, 0.0, None if met else "no way to the target")


ONE_PASS = Registered("one-pass", one_pass, "", listed=lambda: (Option("order", ORDERS, "of the decisions"),))


def _models(known: Instance, data: frozenset[str], limits: Limits) -> Plan:
    capable, appraiser, count = most_capable_cluster(known), Appraiser(known, limits), len(known.clusters)
    n = known.clusters.index(capable)

    def time(draft: Draft) -> float:
        loads = [appraiser.load(k, m, n, data) for k, m in enumerate(draft.models)]
        return sum(asked.work / asked.capacity + asked.communication for asked in loads)

    for length in range(1, known.target.maximum_epochs + 1):
        every = filter(appraiser.allowed, itertools.product(range(len(known.models)), repeat=length))
        for draft in sorted((Draft(one, (n,) * length, (data,) * count) for one in every), key=time):
            if not appraiser.resources(draft).lateness and appraiser.met(draft):
                plan, whole = appraiser.plan(draft), {"resources": capable.capacity}
                epochs = (msgspec.structs.replace(epoch, **whole) for epoch in plan.epochs)
                return msgspec.structs.replace(plan, epochs=tuple(epochs))
    return Plan()


def _with_best_data(known: Instance, plan: Plan) -> Plan:
    names = [item.name for item in known.datasets]
    sets = itertools.chain(*(itertools.combinations(sorted(names), size + 1) for size in range(len(names))))
    places = dict.fromkeys(epoch.cluster for epoch in plan.epochs)
    data = [tuple(ClusterData(cluster=place, datasets=own) for place in places) for own in sets]
    plans = [msgspec.structs.replace(plan, data=own) for own in data]
    found = [(evaluate(known, one, quantile=False), one) for one in plans]
    kept = [(it.transfer_cost, it.training_time, one) for it, one in found if it.feasible]
    return min(kept, key=lambda row: row[:2], default=(0.0, 0.0, Plan()))[2]


def _placed(known: Instance, plan: Plan) -> Plan:
    names = [epoch.model for epoch in plan.epochs]
    data = {item.name: frozenset(plan.data[0].datasets) for item in known.clusters}
    problem = placement_problem(known, names, data)
    found = place(problem)
    if found.assignment is None:
        return Plan()
    return placement_plan(known, names, data, problem, found.assignment)


def _cheapest_place(known: Instance, data: frozenset[str], limits: Limits) -> Instance:
    appraiser, longest, found = Appraiser(known, limits), known.target.maximum_epochs, []
    for n, m in itertools.product(range(len(known.clusters)), range(len(known.models))):
        draft = Draft((m,) * longest, (n,) * longest, (data,) * len(known.clusters))
        short = appraiser.shortest(draft) if appraiser.allowed([m]) else None
        if short is not None and not appraiser.resources(short).lateness:
            x = max(epoch.resources for epoch in appraiser.plan(short).epochs)
            found.append((appraiser.resources(short).cost, n, x))
    if not found:
        return known
    _, n, x = min(found)
    small = msgspec.structs.replace(known.clusters[n], capacity=x)
    paid = tuple(row for row in known.transfers if row.cluster == small.name)
    return known.replace(clusters=(small,), transfers=paid)
