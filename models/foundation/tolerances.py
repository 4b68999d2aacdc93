"""Tolerances that more than one room uses, each with its reason; the verifier keeps its own.

A tolerance that one file alone uses stands there, beside what it is for.
"""

TIME_TOLERANCE = 1e-9
"""Relative amount by which T_max and tau may be exceeded.

Times are sums of some hundred quotients, off by 1e-13 at most; limits are read from decimal fractions. A
millionth part of a second of a quarter of an hour is no failure in practice.
"""
