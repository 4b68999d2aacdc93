"""What x of n independent trials say about a probability: the intervals of Clopper and Pearson."""

import scipy


def upper_end(exceedances: int, runs: int, risk: float) -> float:
    """The upper end of the one-sided Clopper-Pearson interval of a probability.

    Parameters
    ----------
    exceedances, runs : int
        x of n; 0 <= x <= n.
    risk : float
        How often the end may lie below the probability: 1 less the confidence.

    Returns
    -------
    float
        The (1 - risk)-quantile of Beta(x + 1, n - x), and 1 where all exceed.
    """
    if exceedances == runs:
        return 1.0
    return float(scipy.stats.beta.isf(risk, exceedances + 1, runs - exceedances))


def both_ends(exceedances: int, runs: int, risk: float) -> tuple[float, float]:
    """The Clopper-Pearson interval of a probability, each side with half of the risk."""
    return 1 - upper_end(runs - exceedances, runs, risk / 2), upper_end(exceedances, runs, risk / 2)
