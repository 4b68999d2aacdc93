"""Tolerances of the verifier, which shares none with what it checks; each is a documented promise."""

from fractions import Fraction

TIME_TOLERANCE = 1e-9
"""Relative amount by which T_max and tau may be exceeded."""

EXACT_ATOM_TOLERANCE = Fraction(1, 10**9)
"""A sum of atoms that exceeds l_max by no more than this counts as meeting it [loss]."""

ATOM_TOLERANCE = 1e-9
"""`EXACT_ATOM_TOLERANCE` for losses that are doubles [loss]."""

RELATIVE_ROUNDING = 1e-10
"""Relative error granted to distribution functions of scipy and to sums over them, on which soundness rests.

It is set by hand: scipy documents no bound.
"""

CAPACITY_TOLERANCE = 1e-12
"""Relative amount by which resources may exceed a capacity: some roundings of quotients."""

CLAIM_TOLERANCE = 1e-9
"""Relative difference between a claimed number and the one found here that counts as none."""

OPTIMALITY_TOLERANCE = 1e-7
"""Relative amount by which resources may cost more than the cheapest for the same epochs."""
