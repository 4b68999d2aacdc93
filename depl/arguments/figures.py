"""``depl figures``: a figure of the paper again, in its layout, from recorded attempts or from yours.

Beside it stands what the paper prints about this figure, and what the measurements say of that. The paper
publishes no values of its points, so what it prints are sentences and a few numbers in them. Figs. 1 and 3
show no numbers.
"""

import argparse

from depl.arguments.shared import FORMATS, add_json

PRINTED = (2, 4, 5, 6, 7, 8, 9)
"""Numbers of the paper's figures that show numbers: those of `depl.benchmarks.figures.paper.FAMILIES`."""

METHODS = "exact,depl,expected-greedy"
"""What stands in the places of the paper's *optimal*, *DepL* and *best-exp*."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--paper", metavar="N", type=_printed, required=True, help=f"which figure: {_LISTED}")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="files of attempts, or names of recorded suites (default: paper, for Figs. 5 and 6 also "
        "paper-eta); for Figs. 2 and 4 traces or a family of those shipped (default: digits-alexnet)",
    )
    parser.add_argument(
        "--family",
        metavar="F",
        help="the family of the attempts; default: paper-alexnet, in Fig. 6 paper-mobilenet",
    )
    parser.add_argument(
        "--methods",
        dest="places",
        metavar="A,B,C",
        type=_names,
        default=_names(METHODS),
        help="configurations in the places of the paper's optimal, DepL and best-exp; default: " + METHODS,
    )
    _add_output(parser)
    add_json(parser, "the values and what is printed about them")
    parser.set_defaults(run="depl.commands.paper_figures:run")


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        metavar="KIND,...",
        dest="formats",
        type=_formats,
        default=("png", "svg"),
        help=f"of {', '.join(FORMATS)}; default: png,svg",
    )
    parser.add_argument(
        "--column-width",
        action="store_true",
        help="3.5 inches wide, with panels and legend below each other, for a page of two columns",
    )
    parser.add_argument(
        "--latex", action="store_true", help="also write the values as a LaTeX table (package booktabs)"
    )
    parser.add_argument("--out", metavar="DIR", default=".", help="where to write; default: here")


_LISTED = f"{', '.join(map(str, PRINTED[:-1]))} or {PRINTED[-1]}"


def _printed(text: str) -> int:
    if text not in map(str, PRINTED):
        raise argparse.ArgumentTypeError(f"must be {_LISTED}, the figures with numbers, not {text}")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"must be different names with commas between them, not {text!r}")
    return names


def _formats(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(kind.strip().lower().removeprefix(".") for kind in text.split(",")))
    wrong = [kind for kind in kinds if kind not in FORMATS]
    if wrong:
        raise argparse.ArgumentTypeError(f"there is no format {wrong[0]!r}; there are: {', '.join(FORMATS)}")
    return kinds
