"""``depl bench cases``: list the cases, measure them, and show their records as a table."""

import argparse
from pathlib import Path

from depl.arguments.shared import add_json, seed

HELP = "list the cases, single measurements with written goals; run them; show and draw their records"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="cases_action", required=True, metavar="ACTION")
    named = actions.add_parser("list", help="name every case and its goals")
    named.set_defaults(run="depl.commands.bench_cases:run_list")
    run = actions.add_parser("run", help="run cases and write their records")
    run.add_argument("names", nargs="*", metavar="NAME", help="cases to run; all of them by default")
    run.add_argument("--smoke", action="store_true", help="run as small as possible and write nothing")
    run.add_argument(
        "--seed",
        metavar="N",
        type=seed,
        help="repeat this recording of cases that draw anew; default: their seed is drawn by the system",
    )
    run.set_defaults(run="depl.commands.bench_cases:run_run")
    show = actions.add_parser("table", help="render the records as a table in Markdown")
    show.set_defaults(run="depl.commands.bench_cases:run_table")
    for command in (run, show):
        command.add_argument(
            "--out", metavar="DIR", help="folder of the records; default: the committed ones"
        )
    draw = actions.add_parser("draw", help="draw the figure of a case from its record")
    draw.add_argument("name", metavar="NAME", help="a case that has a figure")
    draw.add_argument("folder", metavar="FOLDER", help="where to write NAME.png and NAME.svg")
    draw.add_argument("record", metavar="RECORD", type=Path, nargs="?", help="default: the committed one")
    draw.set_defaults(run="depl.commands.bench_cases:run_draw")
    contents = ((named, "the cases"), (run, "what was measured"), (show, "the records"), (draw, "the files"))
    for command, content in contents:
        add_json(command, content)
