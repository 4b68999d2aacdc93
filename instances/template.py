"""A commented instance to start from: every field with its meaning, its unit and its symbol in the paper.

JSON has no comments, so the reader of instance files (`depl.instances.library.parse`) skips lines that
begin with ``//``. Three kinds of them occur in the template:

- ``// text`` explains the line below it;
- ``// "field": value,`` is an optional field, valid once the slashes are removed;
- ``// or: value``, on one line or several, may replace the value of the field above it.
"""


def template() -> str:
    """The commented instance as text; it loads as it is.

    Examples
    --------
    >>> from depl.instances.library import parse
    >>> parse(template()).name
    'my-training'
    """
    return _TEMPLATE


UNEQUAL_NODES = """\
  // Nodes that differ are given in groups, instead of capacity, bandwidth, unit_cost and nodes; speed is the
  // work that one resource does per unit of time, and count and speed are 1 unless given:
  // or: [
  //       {"name": "edge", "groups": [
  //         {"count": 2, "capacity": 10, "bandwidth": 5, "unit_cost": 1},
  //         {"count": 1, "capacity": 8, "bandwidth": 6, "unit_cost": 1.5, "speed": 2}]},
  //       {"name": "cloud", "capacity": 40, "bandwidth": 20, "unit_cost": 1.5}]
"""
"""How nodes that differ are given, as comments below the clusters of an instance or a setup."""

_TEMPLATE = (
    """\
// A depl instance. Lines that begin with // are comments: plain text explains the line below it,
// a quoted field is optional and may be used by removing the slashes, and "or:" offers another value
// for the field above it. Symbols and sections are those of the paper, arXiv 2402.14346.
// Resources, data, sizes, time and cost may have any units, as long as they are the same everywhere:
// compute is counted in resource x time, bandwidth in size / time, unit_cost in cost / resource. Nothing is
// ever converted; "units" says which ones they are.
{
  // What the file is, and for which reader.
  "format": "depl-instance",
  "version": 1,

  // Any name, and (optional) any text.
  "name": "my-training",
  "description": "Train a network, pruned or not, on the edge or in the cloud.",

  // Names of the units (optional, each of them): they stand beside the numbers shown, and change none.
  "units": {"cost": "EUR", "time": "h", "resource": "core", "data": "GB", "size": "GB", "memory": "GB"},

  // Clusters n of equal nodes, Sec. III. Exactly one of them trains in each epoch.
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
      // Nodes in the cluster, 1 unless given: each gets an equal share of the data, each is paid.
      "nodes": 2
    },
    {"name": "cloud", "capacity": 40, "bandwidth": 20, "unit_cost": 1.5}
  ],
"""
    + UNEQUAL_NODES
    + """
  // Datasets d. A plan chooses for each used cluster a set of them, once and for all its epochs.
  "datasets": [
    {
      "name": "sensors",
      // q(d): how much data it is; drives learning, through data_law [data].
      "volume": 3,
      // Optional: the clusters that may use it; all unless given.
      // "clusters": ["edge", "cloud"],
      // How much of it has to be computed on; the volume unless given [data].
      "work": 4
    },
    {"name": "archive", "volume": 5}
  ],

  // beta(d, n): the cost of bringing a dataset to a cluster, paid once; nothing unless listed [cost].
  "transfers": [
    {"dataset": "sensors", "cluster": "cloud", "cost": 6},
    {"dataset": "archive", "cluster": "edge", "cost": 9}
  ],

  // Models m: the full one and its compressed versions.
  "models": [
    {
      "name": "full",
      // s(m): sent between nodes and coordinator once per epoch, which takes size / bandwidth [size].
      "size": 4,
      // Compute per unit of data, so that c(k, m, D) = demand * total work of D [resource x time / data];
      // 1 unless given.
      "demand": 2,
      // Optional: what a node needs to train it; it fits everywhere unless given [memory].
      // "memory": 12,
      // Optional, instead of demand: c(k, m, d) itself for the epochs k = 1, ..., maximum_epochs, as one
      // table for any data, or as one table for each dataset [resource x time].
      // "compute": [{"epochs": [18, 18, 16, 16]}],
      // or: [{"dataset": "sensors", "epochs": [8, 8, 7, 7]}, {"dataset": "archive", "epochs": [9, 9, 8, 8]}]
      // By how much an epoch lowers the loss: l_run of eq. (8), scale / sqrt(k + offset) * X at epoch k,
      // times what the data law leaves of it.
      "improvement": {
        "shape": "inverse_sqrt",
        // A_m [loss]. A negative one raises the loss, which heavy tails may not do.
        "scale": 2,
        // B_m, above -1; 0 unless given [epochs].
        "offset": 3,
        // The law of X. Inverse gamma, as the paper finds: by mean and variance, or by shape (above 1)
        // and scale.
        "noise": {"type": "inverse_gamma", "mean": 1, "variance": 0.05}
        // or: {"type": "inverse_gamma", "shape": 22, "scale": 21}
        // Lognormal: by mean and variance, or by those of its logarithm.
        // or: {"type": "lognormal", "mean": 1, "variance": 0.05}
        // or: {"type": "lognormal", "log_mean": -0.02, "log_variance": 0.05}
        // or: {"type": "normal", "mean": 1, "variance": 0.05}
        // or: {"type": "deterministic", "value": 1}
        // Observed values, equally likely unless given weights (of any sum).
        // or: {"type": "empirical", "values": [0.8, 0.9, 1.1, 1.3], "weights": [1, 3, 3, 1]}
        // No law: plans are made for given scenarios only, by 'depl solve --scenarios FILE.npz'.
        // or: {"type": "undeclared"}
      }
      // The same at every epoch, scale * X (scale is 1 unless given):
      // or: {"shape": "constant", "scale": 0.8, "noise": {"type": "normal", "mean": 1, "variance": 0.05}}
      // Listed for every epoch:
      // or: {"shape": "table", "epochs": [
      //       {"shape": "constant", "noise": {"type": "normal", "mean": 1, "variance": 0.05}},
      //       {"shape": "constant", "noise": {"type": "normal", "mean": 0.9, "variance": 0.04}},
      //       {"shape": "constant", "noise": {"type": "deterministic", "value": 0.8}},
      //       {"shape": "constant", "noise": {"type": "deterministic", "value": 0.7}}]}
    },
    {
      "name": "pruned",
      "size": 1,
      "demand": 0.8,
      "improvement": {
        "shape": "inverse_sqrt",
        "scale": 1.8,
        "offset": 6,
        "noise": {"type": "inverse_gamma", "mean": 1, "variance": 0.02}
      }
    }
  ],

  // l_sw: the change of the loss when the model "to" follows the model "from" [loss].
  "switches": [
    {
      "from": "full",
      "to": "pruned",
      // Student-t, as the paper finds; lower and upper (optional) truncate it.
      "law": {
        "type": "student_t", "degrees_of_freedom": 5, "location": 0.3, "scale": 0.1, "lower": 0, "upper": 0.6
      }
      // or: {"type": "normal", "mean": 0.3, "variance": 0.01}
      // or: {"type": "deterministic", "value": 0.3}
      // or: {"type": "empirical", "values": [0.2, 0.3, 0.4]}
      // or: {"type": "undeclared"}
      // or: {"type": "zero"}
    }
  ],
  // The law of all pairs that are not listed; "zero" unless given.
  "other_switches": {"type": "forbidden"},

  // How learning depends on the data (optional; without it, it does not): the epochs needed, K^(Q), up to
  // scale, when the data used has the volume Q = base_volume + total volume [epochs]. An improvement on
  // the data D is multiplied by K^(all) / K^(D), so K^ must be positive and may not grow with Q.
  // base_volume is data that is always there, 0 unless given [data].
  // a * Q^-p (a is 1 unless given):
  "data_law": {"type": "power", "p": 0.5, "a": 1, "base_volume": 1},
  // a - b ln Q:
  // or: {"type": "log", "a": 5, "b": 1, "base_volume": 1}
  // a / ln(1 + Q) (a is 1 unless given):
  // or: {"type": "inverse_log", "a": 1, "base_volume": 1}
  // K^ for every nonempty set of datasets:
  // or: {"type": "table", "subsets": [
  //       {"datasets": ["sensors"], "epochs": 30},
  //       {"datasets": ["archive"], "epochs": 24},
  //       {"datasets": ["sensors", "archive"], "epochs": 18}]}

  // What to reach, and within which limits, (2)-(4).
  "target": {
    // l(0): the loss before the first epoch [loss].
    "initial_loss": 6,
    // l_max: the loss after the last epoch may exceed it with probability 1 - quantile_level at most [loss].
    "maximum_loss": 4,
    // omega: the level of the quantile, between 0 and 1.
    "quantile_level": 0.95,
    // K_max: epochs that a plan may have at most.
    "maximum_epochs": 4,
    // Optional: the model before epoch 1, so that epoch 1 may be a switch too.
    // "initial_model": "full",
    // Optional: the models of which the last one must be one; any may be unless given.
    // "deployable": ["pruned"],
    // Optional: tau, which no single epoch may exceed [time].
    // "round_deadline": 5,
    // T_max: time for all epochs, computing and communicating (optional if there is a round_deadline) [time].
    "maximum_time": 10
  },

  // Two more fields nobody writes by hand; 'depl fit' makes them from traces of training. traced_law is a law
  // of the loss with memory that takes the place of improvements and switches; by run_fingerprints 'depl
  // certify' knows the runs that were fitted, whatever they are called, and refuses them.

  // Where the values come from (optional): paper, assumed, derived or measured. A path covers all below
  // it, and the longest path that covers a value counts.
  "provenance": [
    {"path": "$", "source": "assumed", "note": "an example"}
  ]
}
"""
)
