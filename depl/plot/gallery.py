"""The pictures of the pages on objects and policies, made again by ``python -m depl.plot.gallery FOLDER``."""

import sys
from pathlib import Path

from depl.benchmarks.figures.style import save
from depl.fitting import fit
from depl.instances.library import load, parse
from depl.instances.template import template
from depl.models.problem.instance import Instance
from depl.models.solving.front import front as find_front
from depl.models.solving.solve import solve
from depl.plot import compare, front, instance, plan, traces

METHODS = ("exact", "depl", "density-greedy", "expected-greedy")
"""What the comparison shows: a proof, a bound, and two methods that prove nothing."""


def main(folder: Path) -> None:
    """Draw them all, as ``plot-NAME.png``."""
    paper = load("paper-alexnet-deadline", 9)
    answers = [solve(paper, method, time_limit=60) for method in METHODS]
    fitted = fit("digits-alexnet", "digits-alexnet")
    best = solve(fitted).plan
    cheapest = answers[0].plan
    if best is None or cheapest is None:
        raise RuntimeError("no plan was found for a shipped instance")
    first = parse(template())
    answer = solve(first).plan if isinstance(first, Instance) else None
    if answer is None or not isinstance(first, Instance):
        raise RuntimeError("no plan was found for the template")
    figures = {
        "my-training": plan(first, answer)[0],
        "instance": instance(load("tiny"))[0],
        "plan": plan(paper, cheapest)[0],
        "fitted": plan(fitted, best)[0],
        "compare": compare(answers),
        "front": front(find_front(paper, "probability")),
        "front-fitted": front(find_front(fitted, "loss", points=12)),
        "traces": traces("digits-alexnet", (0.35,)),
    }
    for name, axes in figures.items():
        figure = axes.get_figure(root=True)
        if figure is None:
            raise RuntimeError(f"the axes of {name} stand in no figure")
        _, drawing = save(figure, folder, f"plot-{name}")
        drawing.unlink()  # pages show the png


if __name__ == "__main__":
    main(Path(sys.argv[1]))
