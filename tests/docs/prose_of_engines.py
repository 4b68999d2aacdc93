"""What the page on the two engines says of their peers, from the records of the cases that measure them."""

from collections.abc import Iterator

from tests.docs.prose import Values, row


def submodular_peers(values: Values) -> Iterator[str]:
    """The two general methods beside each other."""
    yield row(
        "the minimum-norm point, certificate included",
        "stabilised cutting planes with HiGHS",
        f"{values['speed_ratio_median_with_certificates']:.0f} times faster, "
        "median of ten families, *n* from 200 on",
        "``data``",
    )
    assert len(values["speed_ratios"]) == 10
    assert values["false_claims"] == 0
    yield "of 500 functions that are not submodular none is called optimal"


def label_peers(values: Values) -> Iterator[str]:
    """Model selection: an arc-flow program, and cspy."""
    yield row(
        "label setting for model selection, 50 epochs",
        "HiGHS on the arc-flow program; cspy",
        f"{values['median_times_faster_than_highs']:.0f} and "
        f"{values['median_times_faster_than_cspy']:.0f} times faster",
        "``graph``",
    )


def risk_peers(values: Values) -> Iterator[str]:
    """A certified probability and a certified margin beside sampling them, each from scratch."""
    milliseconds = values["monte_carlo_microseconds_per_sample"] / 1000
    sampled = values["monte_carlo_samples_for_probability_5_percent"] * milliseconds
    probability = round(sampled / values["stand_alone_violation_milliseconds"], -2)
    margin = round(values["stand_alone_margin_faster_than_monte_carlo_5_percent"], -1)
    yield row(
        "a certified probability of 5 %, and a certified quantile, of a sum of 100 terms",
        r"sampling to a relative :math:`10^{-3}`",
        f"{probability:.0f} and {margin:.0f} times faster",
        "``risk-speed``",
    )
    largest = values["margin_half_width_largest"]
    yield f"half-width of a quantile's margin is {largest * 1e9:.1f}e-9 of it at worst"
