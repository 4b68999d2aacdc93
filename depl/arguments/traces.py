"""``depl traces``: traces from what training tools log."""

import argparse

from depl.arguments.logs import add_diverged, add_logs
from depl.arguments.shared import add_json


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    importing = actions.add_parser(
        "import",
        help="read logs of Lightning, Keras, TensorBoard, W&B, mlflow, Flower, JSON Lines or CSV",
    )
    importing.add_argument(
        "paths", metavar="PATH", nargs="+", help="files of logs, or folders that hold them"
    )
    add_logs(importing, required=True)
    add_diverged(importing)
    importing.add_argument(
        "--out",
        metavar="TRACES",
        help="write the traces to this .csv or .csv.gz file; without it they are shown",
    )
    add_json(importing, "what was read")
    importing.set_defaults(run="depl.commands.traces:run_import")
