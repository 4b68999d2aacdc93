"""The model sequences of lowest expected final loss: what *best-exp* of Sec. VI-B trains.

With given data, E l(k) = retention E l(k-1) + (mean of the step), so the best way to arrive at model m after
k epochs extends a best way to arrive at its predecessor: dynamic programming over (epoch, model), with
O(K M**2) steps. Means are added as exact decimals, so that sequences which differ in order only are
recognised as equal and the stated tie-break decides, not the rounding of a sum.

A state is (epoch, model), as in the paper's laws. A law whose steps depend on the epochs since the last
switch gets those of the sequence at hand and would need them in the state to keep the result exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from depl.models.foundation.deadline import keep_time
from depl.models.problem.epochs import LossStep, compute, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Law


def lowest_expected_sequences(
    instance: Instance, datasets: frozenset[str], maximum_epochs: int, cluster: str | None = None
) -> list[tuple[str, ...]]:
    """For every number of epochs, the allowed sequence of models with the lowest expected final loss.

    Forbidden switches are respected, and so is the initial model if there is one. Ties go to the lower total
    compute, then to the sequence whose models come first in the instance, compared epoch by epoch.

    Parameters
    ----------
    datasets : frozenset of str
        D, the data of every epoch.
    maximum_epochs : int
        The greatest K, at most K_max of the instance.
    cluster : str, optional
        Where they are trained: models that do not fit there are left out.

    Returns
    -------
    list of tuple of str
        Entry K - 1 holds the K models, for K = 1 .. ``maximum_epochs``; numbers of epochs of which no
        sequence may end as it does, or fits, are left out.
    """
    names = [model.name for model in instance.models]
    mean = _mean_reader()
    last: list[_Sequence | None] = [None] * len(names)
    rules, found = instance.rules, []
    fits = [cluster is None or rules.may_train(name, cluster) for name in names]
    for epoch in range(1, maximum_epochs + 1):
        keep_time()
        last = [
            _best_arrival(instance, datasets, mean, last, epoch, following) if fits[following] else None
            for following in range(len(names))
        ]
        ends = (row for row, name in zip(last, names, strict=True) if rules.may_end(name))
        best = min((row for row in ends if row is not None), default=None)
        if best is not None:
            found.append(tuple(names[index] for index in best.models))
    return found


@dataclass(frozen=True, order=True)
class _Sequence:
    """A sequence of models, ordered by what makes one better than another."""

    loss: Fraction
    compute: Fraction
    models: tuple[int, ...]
    since_switch: int


_Mean = Callable[[LossStep], Fraction]


def _best_arrival(
    instance: Instance,
    datasets: frozenset[str],
    mean: _Mean,
    last: list[_Sequence | None],
    epoch: int,
    following: int,
) -> _Sequence | None:
    """The best sequence of ``epoch`` models that ends with model number ``following``, if one is allowed."""
    model = instance.models[following].name
    work = _exact(compute(instance, epoch, model, datasets))
    start = _Sequence(_exact(instance.target.initial_loss), Fraction(0), (), 0)
    arrivals = []
    for index, sequence in enumerate(last) if epoch > 1 else [(-1, start)]:
        previous = instance.models[index].name if index >= 0 else instance.target.initial_model
        if sequence is None or not instance.may_follow(previous, model):
            continue
        since_switch = sequence.since_switch + 1 if index == following else 0
        step = loss_step(instance, epoch, since_switch, previous, model, datasets)
        loss = _exact(step.retention) * sequence.loss + mean(step)
        arrivals.append(_Sequence(loss, sequence.compute + work, (*sequence.models, following), since_switch))
    return min(arrivals, default=None)


def _mean_reader() -> _Mean:
    """A function for the mean of a step that computes the moments of every law once (some are integrals)."""
    known: dict[Law, Fraction] = {}

    def of_law(law: Law) -> Fraction:
        if law not in known:
            known[law] = _exact(law.moments().mean)
        return known[law]

    def mean(step: LossStep) -> Fraction:
        parts = (_exact(term.coefficient) * of_law(term.law) for term in step.terms)
        return sum(parts, start=_exact(step.shift))

    return mean


def _exact(value: float) -> Fraction:
    """The decimal number that was meant (0.1 is one tenth)."""
    return Fraction(repr(value))
