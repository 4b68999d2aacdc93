"""``depl bench report``: one HTML page with figures, tables, provenance, and verdicts on the paper."""

import argparse

from depl.arguments.shared import add_json

HELP = "write a page that opens offline, with figures, ratios and verdicts on the paper's claims"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="files of attempts, or names of recorded suites; default: all that are recorded",
    )
    parser.add_argument(
        "--out", metavar="PAGE.html", default="report.html", help="the page; default: report.html"
    )
    parser.add_argument(
        "--no-figures", action="store_true", help="leave the figures out, which take most of the time"
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="also write every figure as PNG, SVG and CSV, and every table as CSV"
    )
    parser.add_argument(
        "--claims",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="judge the paper's claims by the attempts and by the recorded cases, or leave them out; "
        "default: only where no FILE is named",
    )
    parser.add_argument(
        "--methods",
        metavar="A,B",
        help="methods that get a section of their own: cost over the best known, where they lose, worst "
        "instances; default: those of the FILEs that are not built in",
    )
    add_json(parser, "the verdicts")
    parser.set_defaults(run="depl.commands.bench_report:run")
