"""Formulas of pages as MathML, which browsers draw without any script."""

import re

_FUNCTION = re.compile(r"(</\w+>\s*)?(<mi>[a-z]{2,}</mi>)\s*<mo>&ApplyFunction;</mo>(\s*<m[^o])?")
_BAR = '<mo stretchy="false">|</mo>'
_DECIMAL = re.compile(r"<mo>\.</mo>\s*(<mn>)")
_DEFINED = re.compile(r"<mo>∶</mo>\s*<mo>=</mo>")


def mathml(formula: str, as_block: bool) -> str:
    """MathML with what docutils gets wrong: space around ln and in bars, :=, decimal points.

    Parameters
    ----------
    formula : str
        In LaTeX.
    as_block : bool
        Whether it stands on lines of its own.
    """
    from docutils.utils.math.latex2mathml import tex2mathml

    made = _DECIMAL.sub(r"\1.", tex2mathml(formula, as_block=as_block))
    made = _DEFINED.sub("<mo>≔</mo>", made)
    made = made.replace(_BAR, _BAR.replace(">", ' lspace="0" rspace="0">', 1))
    return _FUNCTION.sub(_spaced, made)


def _spaced(found: re.Match[str]) -> str:
    thin = '<mspace width="0.167em"></mspace>'
    before, name, after = found.groups()
    left = before + (thin if "</mo>" not in before else "") if before else ""
    return left + name + (thin + after if after else "<mo>&ApplyFunction;</mo>")
