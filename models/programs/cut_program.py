"""The program of a cutting-plane method: the least upper bound that all cuts so far leave, in HiGHS.

A concave function of some variables is bounded by cuts, each linear; the program finds the greatest value
that none of them forbids, and where. It is kept, so that a solve after new cuts starts from the basis of the
last one.
"""

from typing import NamedTuple

import highspy
import numpy as np

from depl.models.problem.laws import FloatArray
from depl.models.programs.quiet import quiet_highs


class CutOptimum(NamedTuple):
    """The greatest value that the cuts allow."""

    ceiling: float
    point: FloatArray  # where it is attained, (n,)
    multipliers: FloatArray  # of the cuts, in the order in which they were added; at least 0, with the sum 1


class CutProgram:
    """max z subject to z + row . x <= right for every cut, lower <= x <= upper.

    HiGHS measures feasibility absolutely: give everything in units that make it about 1. Ends of the
    variables may be infinite.
    """

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        self._columns = np.arange(len(lower) + 1, dtype=np.int32)
        self._solver = quiet_highs()
        free = highspy.kHighsInf
        self._solver.addVars(len(self._columns), np.append(-free, lower), np.append(free, upper))
        self._solver.changeColCost(0, -1.0)
        self._whole = True

    def add(self, rows: FloatArray, rights: FloatArray) -> None:
        """Add cuts, of shapes (cuts, n) and (cuts,)."""
        count, width = len(rows), len(self._columns)
        status = self._solver.addRows(
            count,
            np.full(count, -highspy.kHighsInf),
            np.asarray(rights, dtype=np.float64),
            width * count,
            np.arange(0, width * count, width, dtype=np.int32),
            np.tile(self._columns, count),
            np.column_stack([np.ones(count), rows]).ravel(),
        )
        self._whole &= status != highspy.HighsStatus.kError

    def solve(self) -> CutOptimum | None:
        """The optimum; None if HiGHS refused a cut or finds none."""
        if not self._whole:
            return None
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._solver.getSolution()
        ceiling, *point = solution.col_value
        return CutOptimum(float(ceiling), np.array(point), np.maximum(-np.array(solution.row_dual), 0.0))
