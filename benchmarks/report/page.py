"""The page: sections in order, from evidence and figures alone; the same ones give the same bytes."""

from collections.abc import Iterator, Sequence
from importlib import resources
from xml.etree.ElementTree import Element

from depl.benchmarks.analysis import limits
from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.ratio_table import ratio_table
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.analysis.tally import Fate
from depl.benchmarks.figures.of_drawing import Drawing
from depl.benchmarks.report import provenance
from depl.benchmarks.report.claims.theory import SIZES
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.headline import headline_table
from depl.benchmarks.report.markup import drawing, element, link, page, sentence, table, within
from depl.benchmarks.report.printed_steps import printed_steps_table
from depl.benchmarks.report.verdict_section import articles, counts, overview
from depl.benchmarks.report.verdicts import Verdict
from depl.instances.library import names
from depl.models.foundation.errors import InvalidInputError

TITLE = "depl: what was measured, and what the paper claims"
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
MOST_ROWS = 1000
"""Rows up to which the numbers of a figure are on the page."""
_GROUPS = {"paper": ("family",), "paper-eta": ("family",), "ablation": ("error",)}
"""Labels by which the ratios of some suites are split."""
_FATES = tuple(fate.value for fate in Fate)


def report(
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    figures: Sequence[Drawing] = (),
    notes: Sequence[str] = (),
) -> str:
    """The report as one HTML document that needs nothing else.

    Parameters
    ----------
    notes : sequence of str
        Sentences on what could not be drawn.

    Raises
    ------
    InvalidInputError
        If there are no attempts, or attempts on instances of one name were made on different instances.
    """
    if not evidence.attempts:
        raise InvalidInputError("there are no attempts to report; 'depl bench run SUITE' makes some")
    sections = [
        section for section in _sections(evidence, figures, verdicts, notes) if len(section) > 1
    ]  # more than its heading
    contents = [within("li", [link(section.attrib["id"], section[0].text or "")]) for section in sections]
    navigation = within("nav", [within("ul", contents)], {"aria-label": "Sections"})
    head = [element("h1", TITLE), *_opening(evidence), navigation]
    return page(
        TITLE, _shipped("page.css"), _shipped("page.js"), [within("header", head), within("main", sections)]
    )


def _sections(
    evidence: Evidence, figures: Sequence[Drawing], verdicts: Sequence[Verdict], notes: Sequence[str]
) -> Iterator[Element]:
    yield _section("headline", "Headline", _headline(evidence, verdicts))
    yield _section("claims", "The paper's claims", _claims(verdicts))
    yield _section("figures", "Figures", _figures(figures, notes))
    yield _section("ratios", "Cost over the optimum", _ratios(evidence))
    yield _section("printed-steps", "What each printed step loses", _printed_steps(evidence))
    yield _section("growth", "How time grows", _growth(evidence))
    yield _section("limits", "Limits of time", _limits(evidence))
    yield _section("goals", "Goals of the cases", _goals(evidence))
    yield _section("provenance", "Where the numbers come from", _provenance(evidence))


def _section(name: str, heading: str, content: Iterator[Element]) -> Element:
    return within("section", [element("h2", heading), *content], {"id": name})


def _opening(evidence: Evidence) -> Iterator[Element]:
    suites = evidence.suites()
    listed = f"{'suite' if len(suites) == 1 else 'suites'} {', '.join(suites)}"
    yield element(
        "p",
        "depl plans dependable training and proves how good its plans are. This page sets what was measured "
        "beside what the paper claims (“Dependable Distributed Training of Compressed Machine Learning "
        "Models”, arXiv 2402.14346). It is computed from "
        f"{len(evidence.attempts)} attempts ({listed}) and from "
        f"{len(evidence.records)} records of cases, without any figure typed by hand.",
    )


def _headline(evidence: Evidence, verdicts: Sequence[Verdict]) -> Iterator[Element]:
    yield counts(verdicts)
    found = headline_table(evidence)
    if found.rows:
        caption = (
            "Mean cost over the proved optimum; “no plan” counts instances for which somebody holds a plan"
        )
        yield table(found, caption, "headline-table", fold=False)


def _claims(verdicts: Sequence[Verdict]) -> Iterator[Element]:
    yield sentence(
        "Where the paper leaves open what it means, a claim is measured under every reading that we "
        "document. It ",
        element("em", "holds"),
        " or ",
        element("em", "fails"),
        " if it does so under all of them; if that depends on the reading, it is ",
        element("em", "not decidable from the paper"),
        ". A reading that is about all cases fails if one case refutes it; others hold “in part” where "
        "cases differ. The rule is the same for all claims, and no verdict is written by hand.",
    )
    yield overview(verdicts)
    yield from articles(verdicts)


def _figures(figures: Sequence[Drawing], notes: Sequence[str]) -> Iterator[Element]:
    yield from (element("p", note) for note in notes)
    groups: dict[str, list[Element]] = {}
    for place, figure in enumerate(figures):
        made = drawing(figure.svg(), f"figure-{figure.name}", figure.caption, f"f{place}")
        groups.setdefault(_family(figure.name), []).extend((made, _numbers(figure)))
    for family, shown in groups.items():
        if family:
            heading = element("summary", f"Family {family} ({len(shown) // 2} figures)")
            yield within("details", [heading, *shown], {"id": f"figures-{family}"})
    yield from groups.get("", ())


def _numbers(figure: Drawing) -> Element:
    if len(figure.table.rows) > MOST_ROWS:
        return element("p", f"Its {len(figure.table.rows)} rows of numbers are too many for this page.")
    caption, label = f"Numbers of the figure: {figure.caption}", "Numbers of this figure"
    return table(figure.table, caption, f"numbers-{figure.name}", fold=True, label=label)


def _family(figure: str) -> str:
    """The longest name of a shipped family that a figure's name begins with; empty if there is none."""
    return max((name for name in names() if figure.startswith(f"{name}-")), key=len, default="")


def _ratios(evidence: Evidence) -> Iterator[Element]:
    yield element(
        "p",
        "A ratio is formed only with an optimum that some method proved; bounds of the mean are a 95 % "
        "bootstrap interval over instances. What has no ratio is counted in the second table of each suite, "
        "where every attempt appears once: compared with an optimum; bounded, that is compared with a "
        "certified bound only; missed, where somebody else holds a plan; open, where nobody does; proved "
        "infeasible; timed out without a plan; refused, because the method does not cover the instance; "
        "rejected by the verifier; failed, hung, or crashed.",
    )
    for suite in evidence.suites():
        by = _GROUPS.get(suite, ())
        own = ratio_table(evidence.suite(suite), by=by)
        ratios = _selected(own, (*by, *_RATIOS))
        fates = _selected(own, (*by, "configuration", "attempts", *_FATES))
        yield table(ratios, f"Suite {suite}: cost over the proved optimum", f"ratios-{suite}")
        yield table(fates, f"Suite {suite}: what became of the attempts", f"fates-{suite}")


def _printed_steps(evidence: Evidence) -> Iterator[Element]:
    found = printed_steps_table(evidence.attempts)
    if found.rows:
        yield element(
            "p",
            "Stages 1 and 3 of the loop as printed, each against the exact stage given what went before it: "
            "K̂T̂ of the data that it begins with, over the least of all sets; and the cost of its plans, over "
            "the cheapest placement of the same models and data. “Late” counts the paths that were given up "
            "because the rounded embedding misses a limit.",
        )
        yield table(found, "Losses of the printed steps", "printed-steps-table", fold=False)


def _growth(evidence: Evidence) -> Iterator[Element]:
    found = [item for item in growths(evidence.attempts, SIZES) if item.line is not None]
    if found:
        yield element(
            "p",
            "Exponents of seconds against one size, all others fixed, beside what Property 2 prints. "
            "Attempts that were stopped are left out and counted; a slope on the sizes that were tried is no "
            "worst case.",
        )
        yield table(growth_table(found), "Exponents of time", "growth-table", fold=False)


def _limits(evidence: Evidence) -> Iterator[Element]:
    found = limits.judged(evidence.attempts)
    if found:
        yield element("p", limits.verdict(found))
        yield element(
            "p",
            "A whole solve, with the certificate and the verification of its plan, may take its limit, "
            f"{limits.SHARE:.0%} of it and {limits.SECONDS:g} s. It is late if it took more by the clock and "
            "by CPU time; the shares are those of what it may take.",
        )
        yield table(limits.limits_table(found), "Attempts that kept their limit", "limits-table")
        broken = limits.broken_table(found)
        if broken.rows:
            yield table(broken, "Attempts that broke it", "limits-broken-table", fold=False)


def _goals(evidence: Evidence) -> Iterator[Element]:
    records = [evidence.records[name] for name in sorted(evidence.records)]
    if records:
        yield element("p", "Cases with goals that were set before they were run.")
        yield table(provenance.records_table(records), "Goals and what was measured", "goals-table")
        yield table(provenance.runs_table(records), "Runs of the cases", "runs-table")


def _provenance(evidence: Evidence) -> Iterator[Element]:
    notes = []
    if evidence.superseded:
        notes.append(
            f"{evidence.superseded} attempts are left out because later ones on the same tasks are there."
        )
    if provenance.dirty(evidence.attempts):
        notes.append(
            f"{provenance.dirty(evidence.attempts)} attempts were made by code with uncommitted changes."
        )
    if notes:
        yield element("p", " ".join(notes))
    yield table(
        provenance.suites_table(evidence),
        "Suites, and the command that runs each again",
        "suites-table",
        fold=False,
    )
    yield table(provenance.endings_table(evidence), "How the attempts ended", "endings-table")
    yield table(provenance.settings_table(evidence), "How the methods were run", "settings-table")
    yield table(provenance.sources_table(evidence), "Commits, machines and versions", "sources-table")
    caption = "Values of the paper's instances that the paper does not print"
    yield table(provenance.assumed_table(), caption, "assumed-table")


def _selected(content: Table, columns: Sequence[str]) -> Table:
    kept = [name for name in columns if name in content.columns]
    picked = [content.column(name) for name in kept]
    return Table(tuple(kept), tuple(zip(*picked, strict=True)))


def _shipped(name: str) -> str:
    return (resources.files("depl.benchmarks.report") / name).read_text(encoding="utf-8")
