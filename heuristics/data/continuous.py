"""Stage 1 with many small datasets of one density: the best volume, law by law, and what E4 says of it.

With Q = Q0 + s, 0 <= s <= W, and g(Q) = K(Q) (t0 + t1 Q), t1 > 0, the derivative g' has the sign of

    power        (1 - p) t1 Q - p t0                 rises or is negative; root p t0 / ((1 - p) t1) for p < 1
    inverse_log  (1 + Q) ln(1 + Q) - Q - t0 / t1     rises
    log          K(Q) / b - 1 - t0 / (t1 Q)          rises up to Q = t0 / t1, falls after

So under the first two laws g falls and then rises. *Wherever K^ T^ is submodular for all volumes (E4), the
least volume is best there*: E4 asks for (1 - p) t1 Q0 >= (1 + p) t0 under the power law, which leaves
g'(Q0) >= 0; and with L = ln(1 + Q0) for t0 / t1 <= ((Q0 + 2) L - 2 Q0) / (L + 2) under the inverse
logarithm, where

    (1 + Q0) L - Q0 - ((Q0 + 2) L - 2 Q0) / (L + 2) = (1 + Q0) L**2 / (L + 2) >= 0

again leaves g'(Q0) >= 0. Under the logarithm E4 asks for t1 Q0 >= t0; then g rises and falls, falls or rises
only, and one of the two ends is best.
"""

from collections.abc import Callable

from scipy.optimize import brentq

from depl.heuristics.data.epochs_needed import NeededEpochs


def best_volume(needed: NeededEpochs, fixed: float, rate: float, whole: float, inner: bool = False) -> float:
    """The added volume s in [0, ``whole``] at which K(s) (fixed + rate s) is least [data].

    Parameters
    ----------
    needed : NeededEpochs
        K^, positive at ``whole`` [epochs].
    fixed : float
        T^ without added volume, t0 + t1 Q0 above [time].
    rate : float
        t1 > 0, duration per volume [time / data].
    whole : float
        W > 0 [data].
    inner : bool
        Whether to return the inner minimum, where there is one, even if an end is better.

    Returns
    -------
    float
        An end exactly, a point between to about 1e-12 relative to ``whole``.
    """
    if needed.constant:
        return 0.0

    def rise(volume: float) -> float:
        """The derivative over -K' > 0, which keeps its sign: T^ < -K/K' rate."""
        length = fixed + rate * volume
        return float(rate * needed.at(volume) / -needed.slope(volume) - length)

    candidates = [0.0, whole]
    turn = _turning_point(needed, fixed, rate, whole)
    # K^ is infinite without any data, so that g falls from there
    low = 1e-12 * whole if needed.base_volume == 0 else 0.0
    if low < turn and rise(low) < 0 < rise(turn):
        candidates.append(float(brentq(rise, low, turn, xtol=1e-13 * whole)))
        if inner:
            return candidates[-1]
    return min(candidates, key=_product(needed, fixed, rate))


def _turning_point(needed: NeededEpochs, fixed: float, rate: float, whole: float) -> float:
    """Where the sign of g' may start to fall: Q = t0 / t1 under the logarithm, nowhere under other laws."""
    if not needed.logarithmic:
        return whole
    base = needed.base_volume
    return min(whole, max((fixed - rate * base) / rate - base, 0.0))


def _product(needed: NeededEpochs, fixed: float, rate: float) -> Callable[[float], float]:
    return lambda volume: float(needed.at(volume)) * (fixed + rate * volume)
