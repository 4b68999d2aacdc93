"""The shipped setups, the reading of a user's own, and a commented one to start from.

A setup (`depl.models.estimation.setup`) is what ``depl fit`` needs besides traces. Files may contain
whole-line comments that begin with ``//``.
"""

import os
from importlib import resources
from pathlib import Path

from depl.instances.library import strip_comments
from depl.instances.template import UNEQUAL_NODES
from depl.models.estimation.setup import Setup
from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

_FOLDER = resources.files("depl.instances") / "data" / "setups"


def setup_names() -> tuple[str, ...]:
    """Names of the shipped setups, sorted."""
    files = [path.name for path in _FOLDER.iterdir()]
    return tuple(sorted(name.removesuffix(".json") for name in files if name.endswith(".json")))


def load_setup(name_or_path: str | Path) -> Setup:
    """Find a setup by name or read it from a file.

    Raises
    ------
    InvalidInputError
        For an unknown name (with the close ones) or file, and with the JSON path of the first thing wrong.
    """
    text = str(name_or_path)
    if not isinstance(name_or_path, Path):
        if text in setup_names():
            return parse_setup((_FOLDER / f"{text}.json").read_text(encoding="utf-8"))
        if not text.endswith(".json") and not os.path.exists(text):
            hint = advice(text, setup_names())
            raise InvalidInputError(f"no shipped setup and no file is called {text!r}; {hint}")
    return parse_setup(read_text(name_or_path))


def parse_setup(text: str) -> Setup:
    """Read a ``depl-setup`` document, whole-line ``//`` comments allowed.

    Raises
    ------
    InvalidInputError
        With the JSON path of the first thing wrong.
    """
    return Setup.from_json(strip_comments(text))


def setup_template() -> str:
    """The commented setup as text; it loads as it is.

    Examples
    --------
    >>> parse_setup(setup_template()).name
    'my-training'
    """
    return _TEMPLATE


_TEMPLATE = (
    """\
// A depl setup: what 'depl fit' needs besides traces, that is, an instance without its laws of learning.
// Lines that begin with // are comments: plain text explains the line below it, and a quoted field is
// optional and may be used by removing the slashes. Symbols are those of the paper, arXiv 2402.14346.
// Resources, data, sizes, time and cost may have any units, as long as they are the same everywhere; nothing
// is ever converted.
{
  // What the file is, and for which reader.
  "format": "depl-setup",
  "version": 1,

  // Any name, and (optional) any text: the instance will have them.
  "name": "my-training",
  "description": "Train a network, pruned on the way, on the edge and then in the cloud.",

  // Names of the units (optional, each of them): they stand beside the numbers shown, and change none.
  "units": {"cost": "EUR", "time": "h", "resource": "core", "data": "GB", "size": "GB", "memory": "GB"},

  // Clusters n of equal nodes, by the names that they have in the traces. Under the affine law every one
  // of them has to have trained some of the runs.
  "clusters": [
    {
      "name": "edge",
      // r(n): the most resources that each node can commit to an epoch [resource].
      "capacity": 10,
      // b(n): bandwidth between each node and the coordinator [size / time].
      "bandwidth": 5,
      // kappa(n): what a resource costs per epoch [cost / resource].
      "unit_cost": 1,
      // Optional: what a node has for a model, in any unit that models' "memory" has, too; a model trains
      // where it needs no more. No limit unless given [memory].
      // "memory": 16,
      // Nodes in the cluster, 1 unless given.
      "nodes": 2
    },
    {"name": "cloud", "capacity": 40, "bandwidth": 20, "unit_cost": 1.5}
  ],
"""
    + UNEQUAL_NODES
    + """
  // The one dataset: what each cluster trained on in the runs. Its work is computed on in every epoch;
  // the volume unless given [data]. With "clusters": ["edge"] it may be used there only.
  "datasets": [{"name": "examples", "volume": 3, "work": 4}],

  // beta(d, n): the cost of bringing it to a cluster, paid once; nothing unless listed [cost].
  "transfers": [{"dataset": "examples", "cluster": "cloud", "cost": 6}],

  // Models m, by the names that they have in the traces; some run has to have trained each of them.
  "models": [
    {
      "name": "full",
      // s(m): sent between nodes and coordinator once per epoch [size].
      "size": 4,
      // Compute per unit of data, 1 unless given [resource x time / data].
      "demand": 2
      // Optional: what a node needs to train it; it fits everywhere unless given [memory].
      // "memory": 12,
      // Optional, instead of demand: compute itself for epochs 1, ..., maximum_epochs [resource x time].
      // "compute": [{"epochs": [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8]}]
    },
    {"name": "pruned", "size": 1, "demand": 0.8}
  ],

  // What to reach, and within which limits.
  "target": {
    // Optional: l(0), the loss before the first epoch; the mean over the runs unless given [loss].
    // "initial_loss": 3,
    // l_max: the loss after the last epoch may exceed it with probability 1 - quantile_level at most [loss].
    "maximum_loss": 0.5,
    // omega: the level of the quantile, between 0 and 1.
    "quantile_level": 0.95,
    // K_max: epochs that a plan may have at most.
    "maximum_epochs": 20,
    // Optional: tau, which no single epoch may exceed [time].
    // "round_deadline": 5,
    // Optional: models of which the last one trained has to be one; any unless given.
    // "deployable": ["pruned"],
    // T_max: time for all epochs (optional if there is a round_deadline) [time].
    "maximum_time": 40
  },

  // Where the values come from (optional): paper, assumed, derived or measured. A path covers all below
  // it. What is fitted will be called measured.
  "provenance": [
    {"path": "$", "source": "assumed", "note": "an example"}
  ]
}
"""
)
