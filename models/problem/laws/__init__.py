"""Laws of the loss increments, one class each, and the register of those that documents may name.

An improvement per epoch is ``X`` of eq. (8) of the paper (inverse gamma there; normal, lognormal,
deterministic, empirical or registered here), a switch changes the loss by a Student-t (Sec. VI-A), normal,
deterministic, empirical or registered amount.
"""

from depl.models.foundation.documents import NonNegative, Positive
from depl.models.problem.laws.finite import NO_LAW, Deterministic, Empirical, Forbidden, Undeclared, Zero
from depl.models.problem.laws.inverse_gamma import InverseGamma
from depl.models.problem.laws.law import SMALLEST_RELATIVE_VARIANCE, Law, Moments
from depl.models.problem.laws.log_variable import FloatArray
from depl.models.problem.laws.lognormal import Lognormal
from depl.models.problem.laws.normal import Normal
from depl.models.problem.laws.registry import (
    BUILT_IN,
    ImprovementLaw,
    SwitchLaw,
    is_registered,
    laws,
    register_law,
    registered_laws,
)
from depl.models.problem.laws.student_t import StudentT

__all__ = [
    "BUILT_IN",
    "NO_LAW",
    "SMALLEST_RELATIVE_VARIANCE",
    "Deterministic",
    "Empirical",
    "FloatArray",
    "Forbidden",
    "ImprovementLaw",
    "InverseGamma",
    "Law",
    "Lognormal",
    "Moments",
    "NonNegative",
    "Normal",
    "Positive",
    "StudentT",
    "SwitchLaw",
    "Undeclared",
    "Zero",
    "is_registered",
    "laws",
    "register_law",
    "registered_laws",
]
