"""How the page and the plan are made again: commands, versions, fingerprints."""

import hashlib
import shlex
from dataclasses import dataclass

from depl.models.problem.plan import Asked
from depl.models.solving.defaults import DEFAULT_METHOD
from depl.models.solving.methods import registered
from depl.models.solving.versions import versions
from depl.reporting.facts import PlanFacts


@dataclass(frozen=True)
class Source:
    """The words of the command line that name instance and plan.

    Attributes
    ----------
    instance, plan : str
        As they were given; a plan of a program has no file yet.
    further : tuple of str
        Options that belong to the instance: ``--target``, ``--import``.
    """

    instance: str
    plan: str = "plan.json"
    further: tuple[str, ...] = ()


def commands(facts: PlanFacts, source: Source, seconds: float | None) -> list[str]:
    """Commands that make the plan, check it, and make the page; the first needs a built-in method."""
    claims = facts.plan.claims
    method = None if claims is None else claims.method
    solving: list[str] = []
    if method in [known.name for known in registered()]:
        named = [] if method == DEFAULT_METHOD else ["--method", str(method)]
        named += _asked(facts)
        solving = ["depl", "solve", source.instance, *source.further, *named, "--out", source.plan]
    both = [source.instance, source.plan, *source.further]
    limit = ["--no-prices"] if seconds is None else ["--time-limit", f"{seconds:g}"]
    lines = [solving, ["depl", "check", *both], ["depl", "report", *both, *limit]]
    return [shlex.join(line) for line in lines if line]


def _asked(facts: PlanFacts) -> list[str]:
    """Options of the solve that made the plan, as far as it records them."""
    asked, claims = facts.plan.asked or Asked(), facts.plan.claims
    words = [] if asked.gap == 0 else ["--gap", f"{asked.gap:g}"]
    words += [] if asked.time_limit is None else ["--time-limit", f"{asked.time_limit:g}"]
    words += [] if asked.seed == 0 else ["--seed", str(asked.seed)]
    if claims is not None and claims.scenarios is not None:
        words += ["--scenarios", str(claims.scenarios.size)]
    return words


def identities(facts: PlanFacts, seconds: float | None) -> list[tuple[str, str]]:
    """Fingerprints, the seed and the limit of the solves, and versions."""
    digest = hashlib.sha256(facts.plan.to_json().encode()).hexdigest()
    pairs = [("instance", facts.instance.fingerprint), ("plan, SHA-256 as depl writes it", digest)]
    if seconds is not None:
        pairs.append(("solves for this page", f"seed 0, at most {seconds:g} s each"))
    pairs.append(("versions", ", ".join(f"{name} {text}" for name, text in versions().items())))
    return pairs
