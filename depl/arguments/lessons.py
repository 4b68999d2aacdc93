"""``depl lessons``: list the lessons, and export them as notebooks, slides, handouts and kits."""

import argparse

from depl.arguments.shared import add_json, positive_count

KINDS = {
    "notebook": "to work in, with open exercises",
    "slides": "one HTML page, turned by arrow keys",
    "handout": "to print, with lines to write answers on",
    "kit": "plan, handout, exercises and marking scheme for a lecture, where a lesson has one",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options of its actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the lessons, and which have a kit")
    add_json(listing, "the list")
    listing.set_defaults(run="depl.commands.lessons:run_list")
    export = actions.add_parser("export", help="write lessons as files to teach with")
    export.add_argument(
        "numbers", metavar="N", nargs="*", type=positive_count, help="numbers of lessons; default: all"
    )
    export.add_argument(
        "--to", metavar="DIR", default="lessons", help="the folder for the files; default: lessons"
    )
    kinds = "; ".join(f"{name}: {text}" for name, text in KINDS.items())
    export.add_argument(
        "--only",
        choices=tuple(KINDS),
        action="append",
        help=f"one kind of file, may be given several times; default: all. {kinds}",
    )
    export.add_argument("--force", action="store_true", help="replace files that are there")
    add_json(export, "the names of the files")
    export.set_defaults(run="depl.commands.lessons:run_export")
