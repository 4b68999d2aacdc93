"""The pictures of the pages on objects and policies, made again by ``python -m depl.plot.gallery FOLDER``."""

import sys
from pathlib import Path

from depl.benchmarks.figures.style import figure_of, save
from depl.instances.library import load, parse
from depl.instances.template import template
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.front import front as find_front
from depl.models.solving.result import Result
from depl.models.solving.solve import solve
from depl.plot import compare, front, instance, plan, traces
from depl.runs import fit

METHODS = ("exact", "depl", "density-greedy", "expected-greedy")
"""What the comparison shows: a proof, a bound, and two methods that prove nothing."""


def main(folder: Path) -> None:
    """Draw them all, as ``plot-NAME.png``."""
    paper = load("paper-alexnet-deadline", 9)
    answers = [solve(paper, method, time_limit=60) for method in METHODS]
    fitted, first = fit("digits-alexnet", "digits-alexnet"), parse(template())
    if not isinstance(first, Instance):
        raise TypeError("the template is no instance")
    figures = {
        "my-training": plan(first, _held(solve(first)))[0],
        "instance": instance(load("tiny"))[0],
        "plan": plan(paper, _held(answers[0]))[0],
        "compare": compare(answers),
        "front": front(find_front(paper, "probability")),
        "front-fitted": front(find_front(fitted, "loss", points=12)),
        "traces": traces("digits-alexnet", (0.35,)),
    }
    for name, axes in figures.items():
        save(figure_of(axes), folder, f"plot-{name}", ("png",))


def _held(answer: Result) -> Plan:
    if answer.plan is None:
        raise RuntimeError(f"no plan was found for {answer.instance}")
    return answer.plan


if __name__ == "__main__":
    main(Path(sys.argv[1]))
