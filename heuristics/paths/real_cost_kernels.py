"""Compiled inner loops: completions at fixed prices, the price of loss, children, dominance, real costs.

The same functions run uncompiled when NUMBA_DISABLE_JIT=1, with the same results.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.kernels import compiled
from depl.models.problem.laws import FloatArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ROUNDING = 1e-14
"""Relative error that dominance grants to sums of floating-point numbers."""

_MOST_ROUNDS = 60
"""Rounds of the best price of loss. The dual is piecewise linear and each round finds a piece, so it ends by
itself. Set by hand: a search that is cut short has a weaker bound, valid all the same."""


class Network(NamedTuple):
    """The steps of all sequences, as arrays.

    Attributes
    ----------
    losses : float array (K, M + 1, G)
        Change of the loss.
    allowed : bool array (K, M + 1, G)
    models : int array (G,)
        Model of each kind.
    bits : int array (G,)
        One bit per cluster whose opening costs; 0 where it is free.
    charges : float array (O,)
        Cost of opening a set of clusters, a set being a sum of bits [cost].
    initial_loss, highest_loss : float
        Before epoch 1, and the most that may be left at the end [loss].
    """

    losses: FloatArray
    allowed: Booleans
    models: Integers
    bits: Integers
    charges: FloatArray
    initial_loss: float
    highest_loss: float


class Layer(NamedTuple):
    """Labels with equally many epochs; n rows.

    Attributes
    ----------
    losses : float array (n,)
    models, opened, parents, kinds : int array (n,)
        Last model, set of opened clusters, row in the layer before, kind of the last epoch.
    bounds : float array (n,)
        No feasible sequence that starts like this costs less [cost].
    """

    losses: FloatArray
    models: Integers
    opened: Integers
    parents: Integers
    kinds: Integers
    bounds: FloatArray


class Guides(NamedTuple):
    """Points (lam, mu) of the Lagrangian dual with their completions; P of them.

    Attributes
    ----------
    weights : float array (P, K, G)
        What an epoch costs at lam [cost].
    loss_prices : float array (P,)
        mu [cost / loss].
    constants : float array (P,)
        lam T_max [cost].
    completions : float array (P, K + 1, M + 1, O)
    least_losses : float array (K + 1, M + 1)
        The most negative change of the loss from here on, 0 included [loss].
    """

    weights: FloatArray
    loss_prices: FloatArray
    constants: FloatArray
    completions: FloatArray
    least_losses: FloatArray


@compiled
def without_charges(network: Network) -> Network:
    """The same steps with clusters that open for nothing."""
    return Network(
        network.losses,
        network.allowed,
        network.models,
        network.bits,
        np.zeros_like(network.charges),
        network.initial_loss,
        network.highest_loss,
    )


@compiled
def completions(network: Network, weights: FloatArray, loss_price: float) -> FloatArray:
    """H[k, p, o]: least weight + loss_price * loss of the epochs after the k-th, which may be none.

    Model p came before and the clusters of o are open; opening others costs. Shape (K + 1, M + 1, O).
    """
    epochs, states, kinds = network.losses.shape
    sets = network.charges.shape[0]
    found = np.zeros((epochs + 1, states, sets))
    for k in range(epochs - 1, -1, -1):
        for p in range(states):
            for g in range(kinds):
                if network.allowed[k, p, g]:
                    step = weights[k, g] + loss_price * network.losses[k, p, g]
                    model, bit = network.models[g], network.bits[g]
                    for o in range(sets):
                        then = o | bit
                        value = step + network.charges[then] - network.charges[o] + found[k + 1, model, then]
                        if value < found[k, p, o]:
                            found[k, p, o] = value
    return found


@compiled
def trace(network: Network, weights: FloatArray, loss_price: float, found: FloatArray) -> Integers:
    """A sequence that attains H at the start, -1 after its end; shape (K,)."""
    epochs, states, kinds = network.losses.shape
    sequence = np.full(epochs, -1, dtype=np.int64)
    p, o = states - 1, 0
    for k in range(epochs):
        best, chosen = 0.0, -1
        for g in range(kinds):
            if network.allowed[k, p, g]:
                then = o | network.bits[g]
                value = weights[k, g] + loss_price * network.losses[k, p, g]
                value += network.charges[then] - network.charges[o] + found[k + 1, network.models[g], then]
                if value < best:
                    best, chosen = value, g
        if chosen < 0:
            break
        sequence[k] = chosen
        p, o = network.models[chosen], o | network.bits[chosen]
    return sequence


@compiled
def weight_and_loss(network: Network, weights: FloatArray, sequence: Integers) -> tuple[float, float]:
    """Weight with openings, and final loss, of a sequence as `trace` gives it."""
    weight, loss, opened = 0.0, network.initial_loss, 0
    p = network.losses.shape[1] - 1
    for k in range(sequence.shape[0]):
        g = sequence[k]
        if g < 0:
            break
        weight += weights[k, g]
        loss += network.losses[k, p, g]
        opened |= network.bits[g]
        p = network.models[g]
    return weight + network.charges[opened], loss


@compiled
def best_loss_price(network: Network, weights: FloatArray) -> tuple[float, float, Integers]:
    """The price of loss with the best Lagrangian bound, that bound, and sequences met that reach the target.

    Two sequences, one that misses the target and one that reaches it, are lines over the price; where they
    meet is the next price, until no sequence lies below. The bound is infinite if none reaches the target.
    """
    epochs = network.losses.shape[0]
    met = np.full((_MOST_ROUNDS + 1, epochs), -1, dtype=np.int64)
    if network.initial_loss <= network.highest_loss:
        return 0.0, 0.0, met[:0]
    nothing, free = np.zeros_like(weights), without_charges(network)
    steepest = trace(free, nothing, 1.0, completions(free, nothing, 1.0))
    reach, loss = weight_and_loss(network, weights, steepest)
    below = loss - network.highest_loss
    if below > 0:
        return 0.0, np.inf, met[:0]
    met[0] = steepest
    above, short = network.initial_loss - network.highest_loss, 0.0
    best, price = 0.0, 0.0
    for round_ in range(_MOST_ROUNDS):
        crossing = (reach - short) / (above - below)
        found = completions(network, weights, crossing)
        bound = found[0, network.losses.shape[1] - 1, 0] + crossing * (
            network.initial_loss - network.highest_loss
        )
        if bound > best:
            best, price = bound, crossing
        sequence = trace(network, weights, crossing, found)
        weight, loss = weight_and_loss(network, weights, sequence)
        excess = loss - network.highest_loss
        line = short + crossing * above
        if weight + crossing * excess >= line - 1e-12 * (abs(line) + crossing * abs(above)):
            return price, best, met[: round_ + 1]
        met[round_ + 1] = met[round_]
        if excess > 0:
            above, short = excess, weight
        else:
            below, reach = excess, weight
            met[round_ + 1] = sequence
    return price, best, met


@compiled
def children(
    network: Network,
    guides: Guides,
    epoch: int,
    labels: Layer,
    values: FloatArray,
    threshold: float,
) -> tuple[Layer, float]:
    """Every label with one epoch more that may still lead below the threshold, and the least bound dropped.

    ``values`` are the costs of the labels at the guides, shape (n, P), openings not included.
    """
    kinds = network.models.shape[0]
    count = labels.losses.shape[0]
    losses = np.empty(count * kinds)
    models = np.empty(count * kinds, dtype=np.int64)
    opened = np.empty(count * kinds, dtype=np.int64)
    parents = np.empty(count * kinds, dtype=np.int64)
    chosen = np.empty(count * kinds, dtype=np.int64)
    bounds = np.empty(count * kinds)
    size, dropped = 0, np.inf
    for i in range(count):
        for g in range(kinds):
            if not network.allowed[epoch, labels.models[i], g]:
                continue
            loss = labels.losses[i] + network.losses[epoch, labels.models[i], g]
            model, then = network.models[g], labels.opened[i] | network.bits[g]
            # Summed in another order this could be on the other side of the limit, by a rounding.
            if loss + guides.least_losses[epoch + 1, model] > network.highest_loss + ROUNDING * abs(loss):
                continue
            excess = loss - network.highest_loss
            bound = network.charges[then] + _guided(guides, epoch, values[i], g, model, then, excess)
            if bound >= threshold:
                dropped = min(dropped, bound)
                continue
            losses[size], models[size], opened[size] = loss, model, then
            parents[size], chosen[size], bounds[size] = i, g, bound
            size += 1
    return (
        Layer(losses[:size], models[:size], opened[:size], parents[:size], chosen[:size], bounds[:size]),
        dropped,
    )


@compiled
def _guided(
    guides: Guides, epoch: int, values: FloatArray, kind: int, model: int, opened: int, excess: float
) -> float:
    """The best of the guides' bounds of a label's child, without what it has opened."""
    best = -np.inf
    for b in range(guides.constants.shape[0]):
        value = values[b] + guides.weights[b, epoch, kind] - guides.constants[b]
        value += guides.loss_prices[b] * excess + guides.completions[b, epoch + 1, model, opened]
        best = max(best, value)
    return best


@compiled
def real_costs(curves: FloatArray, paces: FloatArray, maximum_time: float, tolerance: float) -> FloatArray:
    """Least resource cost of each label if it ended here; infinite if even the quickest pace is too slow.

    Parameters
    ----------
    curves : float array (n, J, 3)
    paces : float array (J + 1,)
        The optimal pace is taken to lie between the ends.
    tolerance : float
        Relative amount by which T_max may be exceeded at the quickest pace.
    """
    count, pieces = curves.shape[0], curves.shape[1]
    found = np.full(count, np.inf)
    for i in range(count):
        last = pieces - 1
        if _time(curves[i, last], paces[last + 1]) > maximum_time * (1 + tolerance):
            continue
        found[i] = curves[i, last, 2] + curves[i, last, 1] * paces[last + 1]
        if _time(curves[i, 0], paces[0]) <= maximum_time:
            found[i] = curves[i, 0, 2] + curves[i, 0, 1] * paces[0]
            continue
        for j in range(pieces):
            if _time(curves[i, j], paces[j + 1]) <= maximum_time:
                pace, room = paces[j + 1], maximum_time - curves[i, j, 0]
                if room > 0 and curves[i, j, 1] > 0:
                    pace = min(max(curves[i, j, 1] / room, paces[j]), paces[j + 1])
                found[i] = curves[i, j, 2] + curves[i, j, 1] * pace
                break
    return found


@compiled
def undominated(
    losses: FloatArray,
    opened: Integers,
    curves: FloatArray,
    paces: FloatArray,
    charges: FloatArray,
    kept: Integers,
    rows: tuple[int, int],
    size: int,
) -> int:
    """Go through some rows and keep those that no kept row dominates; rows have to be sorted by loss.

    Row a dominates row b if its loss is no higher, its price form plus the cost of opening what only a has
    opened is nowhere between the paces above that of b, and it is no slower at the quickest pace.

    Parameters
    ----------
    kept : int array (n,)
        The first ``size`` entries are the rows kept so far; it is changed.
    rows : pair of int
        The rows to go through: from the first to before the second.

    Returns
    -------
    int
        How many rows are kept now.
    """
    for b in range(rows[0], rows[1]):
        beaten = False
        for position in range(size):
            a = kept[position]
            extra = charges[opened[a] | opened[b]] - charges[opened[b]]
            if _dominates(curves[a], curves[b], paces, extra):
                beaten = True
                # Neighbours in the order of losses tend to be beaten by the same row.
                kept[0], kept[position] = kept[position], kept[0]
                break
        if not beaten:
            kept[size] = b
            size += 1
    return size


@compiled
def _dominates(better: FloatArray, worse: FloatArray, paces: FloatArray, extra: float) -> bool:
    last = better.shape[0] - 1
    end = paces[last + 1]
    if _time(better[last], end) > _time(worse[last], end) * (1 + ROUNDING):
        return False
    for j in range(last, -1, -1):
        low, high = paces[j], paces[j + 1]
        square, twice = worse[j, 0] - better[j, 0], worse[j, 1] - better[j, 1]
        constant = worse[j, 2] - better[j, 2] - extra
        slack = ROUNDING * ((worse[j, 0] * low + 2 * worse[j, 1]) * low + worse[j, 2])
        if (square * high + 2 * twice) * high + constant < -slack:
            return False
        if (square * low + 2 * twice) * low + constant < -slack:
            return False
        turns = square > 0 and square * low < -twice < square * high
        if turns and constant - twice * twice / square < -slack:
            return False
    return True


@compiled
def _time(piece: FloatArray, pace: float) -> float:
    if piece[1] == 0:
        return float(piece[0])
    return float(piece[0] + piece[1] / pace) if pace > 0 else np.inf
