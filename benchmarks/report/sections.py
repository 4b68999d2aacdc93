"""The third layer of the page: tables of ratios, growth, limits, goals and provenance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis import limits
from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.ratio_table import ratio_table
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.analysis.tally import Fate
from depl.benchmarks.report import provenance
from depl.benchmarks.report.claims.theory import SIZES
from depl.benchmarks.report.disputes import disputes
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.grid import ShownTable, grid
from depl.benchmarks.report.headline import headline_table
from depl.benchmarks.report.printed_steps import printed_steps_table

_RATIOS = (
    "configuration",
    "attempts",
    "compared",
    "mean",
    "mean_lower",
    "mean_upper",
    "median",
    "quantile_90",
    "quantile_99",
    "largest",
    "optimal_share",
)
_GROUPS = {"paper": ("family",), "paper-eta": ("family",), "ablation": ("error",)}
"""Labels by which the ratios of some suites are split."""
_FATES = tuple(fate.value for fate in Fate)


@dataclass(frozen=True)
class Section:
    """Tables under a heading.

    Attributes
    ----------
    identity : str
        Its id.
    heading : str
    paragraphs : tuple of str
    grids : tuple of ShownTable
    """

    identity: str
    heading: str
    paragraphs: tuple[str, ...]
    grids: tuple[ShownTable, ...]


def sections(evidence: Evidence) -> list[Section]:
    """All sections that have a table."""
    found = (
        _section("headline", "Headline", _headline(evidence)),
        _section("ratios", "Cost over the optimum", _ratios(evidence)),
        _section("printed-steps", "What each printed step loses", _printed_steps(evidence)),
        _section("growth", "How time grows", _growth(evidence)),
        _section("limits", "Limits of time", _limits(evidence)),
        _section("goals", "Goals of the cases", _goals(evidence)),
        _section("provenance", "Where the numbers come from", _provenance(evidence)),
    )
    return [section for section in found if section.grids]


def _section(identity: str, heading: str, content: Iterator[str | ShownTable]) -> Section:
    parts = list(content)
    paragraphs = tuple(part for part in parts if isinstance(part, str))
    return Section(
        identity, heading, paragraphs, tuple(part for part in parts if isinstance(part, ShownTable))
    )


def _headline(evidence: Evidence) -> Iterator[str | ShownTable]:
    yield from disputes(evidence)
    found = headline_table(evidence)
    if found.rows:
        caption = (
            "Mean cost over the proved optimum; “no plan” counts instances for which some method found a plan"
        )
        yield grid(found, caption, "headline-table", fold=False)


def _ratios(evidence: Evidence) -> Iterator[str | ShownTable]:
    if not headline_table(evidence).rows:  # otherwise it stands there
        yield from disputes(evidence)
    yield (
        "A ratio is formed only with an optimum that some method proved; bounds of the mean are a 95 % "
        "bootstrap interval over instances. What has no ratio is counted in the second table of each suite, "
        "where every attempt appears once: compared with an optimum; bounded, that is compared with a "
        "certified bound only; missed, where another method found a plan; open, where none did; proved "
        "infeasible; timed out without a plan; refused, because the method does not cover the instance; "
        "rejected by the verifier; failed, hung, or crashed."
    )
    for suite in evidence.suites():
        by = _GROUPS.get(suite, ())
        own = ratio_table(evidence.suite(suite), by=by)
        ratios = _selected(own, (*by, *_RATIOS))
        fates = _selected(own, (*by, "configuration", "attempts", *_FATES))
        yield grid(ratios, f"Suite {suite}: cost over the proved optimum", f"ratios-{suite}")
        yield grid(fates, f"Suite {suite}: what became of the attempts", f"fates-{suite}")


def _printed_steps(evidence: Evidence) -> Iterator[str | ShownTable]:
    found = printed_steps_table(evidence.attempts)
    if found.rows:
        yield (
            "Stages 1 and 3 of the loop as printed, each against the exact stage given what went before it: "
            "K̂T̂ of the data that it begins with, over the least of all sets; and the cost of its plans, over "
            "the cheapest placement of the same models and data. “Late” counts the paths that were given up "
            "because the rounded embedding misses a limit."
        )
        yield grid(found, "Losses of the printed steps", "printed-steps-table", fold=False)


def _growth(evidence: Evidence) -> Iterator[str | ShownTable]:
    found = [item for item in growths(evidence.attempts, SIZES) if item.line is not None]
    if found:
        yield (
            "Exponents of seconds against one size, all others fixed, beside what Property 2 prints. "
            "Attempts that were stopped are left out and counted; a slope on the sizes that were tried is no "
            "worst case."
        )
        yield grid(growth_table(found), "Exponents of time", "growth-table", fold=False)


def _limits(evidence: Evidence) -> Iterator[str | ShownTable]:
    found = limits.judged(evidence.attempts)
    if found:
        yield limits.verdict(found)
        yield (
            "A whole solve, with the certificate and the verification of its plan, may take its limit, "
            f"{limits.SHARE:.0%} of it and {limits.SECONDS:g} s. It is late if it took more by the clock and "
            "by CPU time; the shares are those of what it may take."
        )
        yield grid(limits.limits_table(found), "Attempts that kept their limit", "limits-table")
        broken = limits.broken_table(found)
        if broken.rows:
            yield grid(broken, "Attempts that broke it", "limits-broken-table", fold=False)


def _goals(evidence: Evidence) -> Iterator[str | ShownTable]:
    records = [evidence.records[name] for name in sorted(evidence.records)]
    if records:
        yield "Cases with goals that were set before they were run."
        yield grid(provenance.records_table(records), "Goals and what was measured", "goals-table")
        yield grid(provenance.runs_table(records), "Runs of the cases", "runs-table")


def _provenance(evidence: Evidence) -> Iterator[str | ShownTable]:
    dirty = provenance.dirty(evidence.attempts)
    if evidence.superseded:
        yield f"{evidence.superseded} attempts are left out because later ones on the same tasks are there."
    if dirty:
        yield f"{dirty} attempts were made by code with uncommitted changes."
    for table, caption, name, fold in (
        (provenance.suites_table(evidence), "Suites, and the command that runs each again", "suites", False),
        (provenance.endings_table(evidence), "How the attempts ended", "endings", None),
        (provenance.settings_table(evidence), "How the methods were run", "settings", None),
        (provenance.sources_table(evidence), "Commits, machines and versions", "sources", None),
    ):
        yield grid(table, caption, f"{name}-table", fold=fold)
    if any(attempt.task.instance.startswith("paper-") for attempt in evidence.attempts):
        caption = "Values of the paper's instances that the paper does not print"
        yield grid(provenance.assumed_table(), caption, "assumed-table")


def _selected(content: Table, columns: Sequence[str]) -> Table:
    kept = [name for name in columns if name in content.columns]
    picked = [content.column(name) for name in kept]
    return Table(tuple(kept), tuple(zip(*picked, strict=True)))
