"""The page on a plan for whoever pays: one HTML file that opens offline and prints on two sheets at most."""

import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from depl.benchmarks.report.template import inline_svg, rendered
from depl.models.estimation.certificate import Certificate
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Asked, Plan
from depl.models.solving.defaults import DEFAULT_METHOD, REPORT_SECONDS
from depl.models.solving.limits import Limits, require_limits
from depl.models.solving.methods import registered
from depl.models.solving.result import Result, versions
from depl.models.solving.solve import solve
from depl.reporting import words
from depl.reporting.facts import PlanFacts, facts_of

_WIDTH, _HEIGHT = 7.5, 4.8
"""Inches of the picture: the width of a sheet, and a third of its height."""

CAPTION = (
    "Above, a bar is an epoch: as wide as it takes time, as high as the resources of a node, in the colour "
    "of its model. Below, the loss after each epoch: its median, the band between its 1 and 99 % quantiles "
    "(under a law fitted to runs, those of the recorded runs), the loss that is wanted, and the certified "
    "quantile at the end, all under the law of the instance."
)
"""What the picture shows."""


class Source(NamedTuple):
    """The words of the command line that name files; further options belong to the instance."""

    instance: str
    plan: str = "plan.json"
    further: tuple[str, ...] = ()
    certificate: str | None = None


@dataclass(frozen=True)
class PlanPage:
    """A page on a plan.

    Attributes
    ----------
    html : str
        The whole document.
    ok : bool
        Whether the independent verifier accepts the plan.
    summary : str
        The promise in a sentence.
    interrupted : bool
        Whether the user stopped a solve; those after it were not begun.
    cheaper : str
        Whether a cheaper plan is known, or how much could be saved at most; empty where nothing can be said.
    """

    html: str
    ok: bool
    summary: str
    interrupted: bool = False
    cheaper: str = ""

    def save(self, path: str | Path) -> None:
        """Write it; an older file is replaced as a whole.

        Raises
        ------
        InvalidInputError
            If it cannot be written.
        """
        write_text(str(path), self.html)


def report(
    instance: Instance,
    plan: Plan,
    *,
    prices: bool = True,
    time_limit: float = REPORT_SECONDS,
    certificate: Certificate | None = None,
) -> PlanPage:
    """Make the page on a plan for whoever pays: what is promised, at which price, and what proves it.

    Parameters
    ----------
    instance : Instance
    plan : Plan
        Feasible or not: a plan that fails the verifier gets a page that says so.
    prices : bool
        Whether to solve for other probabilities, and by other methods.
    time_limit : float
        Seconds of each of these solves, of the picture, and of what early stopping does.
    certificate : Certificate, optional
        What fresh runs of the plan proved (`depl.certify`).

    Returns
    -------
    PlanPage

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, outlasts its tables or makes a forbidden switch; or the
        limit is not positive.
    """
    require_limits(time_limit=time_limit)

    def solver(target: Instance, method: str) -> Result:
        return solve(target, method, time_limit=time_limit)

    seconds = time_limit if prices else None
    facts = facts_of(instance, plan, solver if prices else None, seconds, certificate)
    return page_of(facts, Source(instance.name), seconds)


def page_of(facts: PlanFacts, source: Source, seconds: float | None) -> PlanPage:
    """The page of what was gathered; ``seconds`` limited each solve and the picture, None without solves."""
    commands = [shlex.join(line) for line in _commands(facts, source, seconds)]
    failures = f"NOT accepted by the independent verifier: {counted(len(facts.verified.failures), 'finding')}"
    accepted = "Accepted by the independent verifier: every equation holds."
    again = [("commands", commands), ("facts", list(_identities(facts, seconds)))]
    html = rendered(
        "depl.reporting",
        "page.html",
        name=facts.instance.name,
        ok=facts.verified.ok,
        verdict=accepted if facts.verified.ok else f"{failures} against the plan.",
        sections=[*words.sections(facts, [_picture(facts, seconds)]), ("reproduce", "To reproduce", again)],
    )
    return PlanPage(html, facts.verified.ok, words.promise(facts), facts.interrupted, words.cheaper(facts)[0])


def _picture(facts: PlanFacts, seconds: float | None) -> words.Block:
    """The plan in time with its loss band as a part of the page; or why there is none."""
    from matplotlib.figure import Figure

    from depl.benchmarks.figures.style import new_axes, svg_text
    from depl.plot.plan import plan as draw

    upper, lower = new_axes(2, 1, _WIDTH, _HEIGHT)
    try:
        with deadline(Limits(time_limit=seconds).lateness):
            draw(facts.instance, facts.plan, (upper, lower))
    except InvalidInputError as error:
        return "", f"No picture: {error}."
    except OutOfTimeError:
        return "", f"No picture: its quantiles take longer than the limit of {seconds:g} seconds."
    figure = upper.figure
    if not isinstance(figure, Figure):  # axes of our own stand in a figure
        raise TypeError(f"axes stand in a {type(figure).__name__}")
    return "figure", (inline_svg(svg_text(figure), CAPTION, "p"), CAPTION)


def _commands(facts: PlanFacts, source: Source, seconds: float | None) -> Iterator[list[str]]:
    """Commands that make the plan, check it, and make the page; the first needs a built-in method."""
    claims, asked = facts.plan.claims, facts.plan.asked or Asked()
    method = None if claims is None else claims.method
    if claims is not None and method in [known.name for known in registered()]:
        named = [] if method == DEFAULT_METHOD else ["--method", str(method)]
        named += [] if asked.gap == 0 else ["--gap", f"{asked.gap:g}"]
        named += [] if asked.time_limit is None else ["--time-limit", f"{asked.time_limit:g}"]
        named += [] if asked.seed == 0 else ["--seed", str(asked.seed)]
        named += [] if claims.scenarios is None else ["--scenarios", str(claims.scenarios.size)]
        yield ["depl", "solve", source.instance, *source.further, *named, "--out", source.plan]
    both = [source.instance, source.plan, *source.further]
    yield ["depl", "check", *both]
    limit = ["--no-prices"] if seconds is None else ["--time-limit", f"{seconds:g}"]
    fresh = [] if source.certificate is None else ["--certificate", source.certificate]
    yield ["depl", "report", *both, *fresh, *limit]


def _identities(facts: PlanFacts, seconds: float | None) -> Iterator[tuple[str, str]]:
    yield "instance", facts.instance.fingerprint
    yield "plan, SHA-256 as depl writes it", hashlib.sha256(facts.plan.to_json().encode()).hexdigest()
    if seconds is not None:
        yield "solves for this page", f"seed 0, at most {seconds:g} s each"
    yield "versions", ", ".join(f"{name} {text}" for name, text in versions().items())
