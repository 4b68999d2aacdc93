r"""Models that may not be the last, as a part of the label: searches over labels need no rule of their own.

Let a step from model p to model m cost B more label if p may be the last and m may not, and B less the other
way round. These charges telescope: a sequence has its own label if its last model may be the last, and B more
if it may not. With B beyond all that labels can fall, no sequence that ends badly meets the target, and those
that end well are as they were; sequences of one last model are charged alike, so dominance is what it was.

Where l(0) meets the target and a plan has to train all the same, the start is charged, too: l(0) and all
first steps back.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.laws import FloatArray

_ROOM = 1.01
"""Factor beyond what labels can fall: any above 1 will do that rounding does not eat up."""


def charge_ends(
    losses: FloatArray,
    models: Sequence[int],
    may_end: NDArray[np.bool_],
    may_stop: bool,
    initial_loss: float,
    maximum_loss: float,
) -> tuple[FloatArray, float]:
    """Labels of all steps, and that of the start, with what an end is charged.

    Parameters
    ----------
    losses : float array (K, M + 1, G)
        Of every step, row M being the start [loss].
    models : sequence of int
        Model of each of the G columns.
    may_end : bool array (M,)
        Which models may be the last.
    may_stop : bool
        Whether the sequence without an epoch is a plan.
    initial_loss, maximum_loss : float
        l(0), and the greatest label that meets the target [loss].
    """
    idle = not may_stop and initial_loss <= maximum_loss
    if may_end.all() and not idle:
        return losses, initial_loss
    fall = np.maximum(-losses, 0.0).max(axis=(1, 2), initial=0.0).sum()
    charge = _ROOM * (max(maximum_loss - initial_loss, 0.0) + float(fall)) + abs(initial_loss) / 100
    if initial_loss > 0:  # a whole number of levels, which are fractions of l(0)
        charge = initial_loss * math.ceil(charge / initial_loss)
    before = charge * np.append(~may_end, idle)
    after = charge * ~may_end[np.asarray(models, dtype=np.int64)]
    return losses + (after[None, :] - before[:, None]), initial_loss + float(before[-1])
