"""Claims on real training, from records of cases: the laws of Sec. VI-A, good fits, and prediction sets."""

from typing import Any

from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.verdicts import Claim, Findings, Reading
from depl.models.foundation.wording import percentage

KEPT = 0.05
"""How far delivered may lie from promised for a law to be said to describe training."""


def inverse_gamma_fits(evidence: Evidence) -> Findings:
    """Shares of p-values above 0.05 of the inverse gamma on our traces, as printed and by bootstrap."""
    readings = []
    for row in _rows(evidence, "printed-statements", "improvement_fits"):
        for kind, title in {
            "as_printed": "p-values as printed",
            "honest": "honest p-values, by bootstrap",
        }.items():
            share = row[kind]
            measured = f"{percentage(share, 2)} of {row['fits']} p-values exceed .05"
            statement = f"{title}, {row['family']}, {row['by']}: almost all (95 %) exceed .05"
            readings.append(Reading(statement, int(share >= 0.95), 1, measured))
    return Findings(readings)


def p_value_means_good_fit(evidence: Evidence) -> Findings:
    """Whether the test as printed rejects as often as its level says; if not, a p-value says little."""
    values = _values(evidence, "estimation-tests")
    if not values:
        return Findings([Reading("the test rejects a true law in about 5 % of samples", 0, 0)])
    size, samples = float(values["size_as_printed"]), int(values["samples"])
    measured = f"it rejects {percentage(size)} of {samples} samples of the law itself; "
    measured += "a test by bootstrap rejects "
    measured += ", ".join(
        f"{percentage(share, 2)} ({name.replace('_', ' ')})" for name, share in values["sizes"].items()
    )
    statement = "the test as printed rejects a true law in 3 to 7 % of samples"
    return Findings([Reading(statement, int(0.03 <= size <= 0.07), 1, measured)])


def student_t_fits_jumps(evidence: Evidence) -> Findings:
    """At how many switches a Student-t fits the jumps of the loss, and all jumps are positive."""
    rows = _rows(evidence, "printed-statements", "switch_fits")
    readings = []
    for what, statement in {
        "as_printed": "the p-value of a Student-t as printed exceeds 0.05",
        "honest": "its honest p-value, by bootstrap, exceeds 0.05",
        "positive": "all jumps are positive",
    }.items():
        shown = sum(bool(row[what]) for row in rows)
        listed = f"{shown} of {len(rows)} switches between two models"
        readings.append(Reading(statement, shown, len(rows), listed))
    return Findings(readings)


def independent_increments(evidence: Evidence) -> Findings:
    """Whether eq. (8) with independent samples delivers what it promises on runs that were held out."""
    values = _values(evidence, "promises-held-out")
    if not values:
        return Findings([Reading("promises of the law are delivered", 0, 0)])
    whole, known = float(values["paper_distance"]), float(values["paper_known_least"])
    return Findings(
        [
            Reading(
                f"from the start of training: delivered within {KEPT:g} of promised",
                int(whole <= KEPT),
                1,
                f"farthest of all plans from .90 and .95: {whole:.3f}",
            ),
            Reading(
                f"from a known loss in mid-run: delivered within {KEPT:g} of promised",
                int(known >= 0.9 - KEPT),
                1,
                f"instead of .90 some plans deliver {known:.3f}",
            ),
        ]
    )


def smaller_prediction_sets(evidence: Evidence) -> Findings:
    """Whether training to a guaranteed loss makes smaller conformal sets than training to a mean."""
    values = _values(evidence, "prediction-sets")
    rows = values.get("comparisons", [])
    smaller = sum(row["mean_verdict"] == "smaller" for row in rows)
    readings = [
        Reading(
            "smaller on average, trained longer because of the guarantee",
            smaller,
            len(rows),
            f"{smaller} of {len(rows)} comparisons",
        )
    ]
    if values:
        change = float(values["equal_work_change"])
        measured = f"the size changes by {change:.1%} at most"
        statement = "smaller by more than 5 % at equal work"
        readings.append(Reading(statement, int(change > 0.05), 1, measured))
    return Findings(readings)


CLAIMS = (
    Claim(
        "inverse-gamma",
        "The inverse gamma fits the improvements excellently: in almost all cases the p-value exceeds 0.05.",
        "Sec. VI-A, Fig. 4, left and centre",
        "It depends on the training, which is not published, and on how the p-value is computed.",
        inverse_gamma_fits,
        ("E7",),
        short="Inverse gamma fits excellently",
        figures=("digits-*-training-fits",),
    ),
    Claim(
        "good-fit",
        "A Kolmogorov-Smirnov p-value above 0.05 means a good fit.",
        "Sec. VI-A, footnote 2",
        "",
        p_value_means_good_fit,
        ("E7",),
        short="p above 0.05 means a good fit",
        figures=("digits-*-training-fits",),
    ),
    Claim(
        "student-t",
        "Switching models raises the loss, by amounts that a Student-t fits.",
        "Sec. VI-A, Fig. 4, right",
        "It depends on the training, which is not published.",
        student_t_fits_jumps,
        short="Switching losses are Student-t",
        figures=("digits-*-training-fits",),
    ),
    Claim(
        "independence",
        "The loss evolves by eq. (8) with independent samples, so that the quantile follows from their laws.",
        "Sec. IV-B; Sec. VI-A, eq. (8)",
        "It depends on the training, which is not published.",
        independent_increments,
        ("E14",),
        short="Samples are independent",
        figures=("digits-*-training-loss",),
    ),
    Claim(
        "prediction-sets",
        "Models that were trained dependably have smaller conformal sets.",
        "Sec. I; Sec. VII",
        "Smaller than those of which other training is open.",
        smaller_prediction_sets,
        short="Smaller conformal sets",
    ),
)


def _values(evidence: Evidence, case: str) -> dict[str, Any]:
    record = evidence.records.get(case)
    return {} if record is None else record.values


def _rows(evidence: Evidence, case: str, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _values(evidence, case).get(name, [])
    return rows
