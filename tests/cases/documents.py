"""``RICH``, a JSON document with every field that an instance can have, and ways to change it.

Used by tests only.
"""

import copy
import functools
import json
import re

from depl.models.problem.instance import Instance

T5 = {"type": "student_t", "degrees_of_freedom": 5, "location": 0.3, "scale": 0.1}
NORMAL = {"type": "normal", "mean": 1, "variance": 0.5}
RICH = {
    "format": "depl-instance",
    "version": 1,
    "name": "rich",
    "description": "Every field that an instance can have, each different from its default.",
    "clusters": [
        {"name": "cloud", "capacity": 10, "bandwidth": 4, "unit_cost": 4, "nodes": 2},
        {"name": "edge", "capacity": 4, "bandwidth": 1, "unit_cost": 0.5},
    ],
    "datasets": [
        {"name": "archive", "volume": 3, "work": 2},
        {"name": "sensors", "volume": 1},
    ],
    "models": [
        {
            "name": "full",
            "size": 2,
            "demand": 3,
            "improvement": {
                "shape": "inverse_sqrt",
                "scale": 2,
                "offset": 0.5,
                "noise": {"type": "inverse_gamma", "shape": 5, "scale": 3},
            },
        },
        {
            "name": "pruned",
            "size": 1,
            "demand": 1.5,
            "improvement": {"shape": "constant", "scale": 0.5, "noise": NORMAL},
            "compute": [
                {"dataset": "archive", "epochs": [1, 2, 3, 4, 5]},
                {"dataset": "sensors", "epochs": [3, 0, 3, 2, 1]},
            ],
        },
        {
            "name": "tabled",
            "size": 0.5,
            "improvement": {
                "shape": "table",
                "epochs": [
                    {
                        "shape": "constant",
                        "noise": {"type": "lognormal", "log_mean": 0.1, "log_variance": 0.2},
                    },
                    {"shape": "constant", "noise": {"type": "deterministic", "value": -2}},
                    {
                        "shape": "constant",
                        "noise": {"type": "empirical", "values": [1, 2], "weights": [1, 3]},
                    },
                    {"shape": "constant", "noise": {"type": "inverse_gamma", "mean": 2, "variance": 3}},
                    {"shape": "constant", "noise": {"type": "lognormal", "mean": 2, "variance": 3}},
                ],
            },
        },
    ],
    "target": {
        "initial_loss": 20,
        "maximum_loss": 9,
        "quantile_level": 0.95,
        "maximum_epochs": 4,
        "maximum_time": 50,
        "round_deadline": 12,
        "initial_model": "full",
    },
    "transfers": [{"dataset": "archive", "cluster": "edge", "cost": 2}],
    "switches": [
        {"from": "full", "to": "pruned", "law": {**T5, "lower": 0.1, "upper": 0.6}},
        {"from": "pruned", "to": "full", "law": {"type": "forbidden"}},
    ],
    "other_switches": T5,
    "data_law": {"type": "power", "p": 0.5, "a": 2, "base_volume": 1},
    "provenance": [{"path": "$", "source": "assumed", "note": "nothing is real"}],
}


ABSENT = object()
"""In the place of a value: the field is removed."""


def steps(path):
    return [
        int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)(?<!\d)|\[(\d+)\]", path)
    ]


def look(document, path):
    return functools.reduce(lambda inner, step: inner[step], steps(path), document)


def put(document, path, value):
    """A deep copy of ``document`` with ``value`` at ``path``; removed where it is ABSENT."""
    changed = copy.deepcopy(document)
    *parents, last = steps(path)
    parent = functools.reduce(lambda inner, step: inner[step], parents, changed)
    if value is ABSENT:
        del parent[last]
    else:
        parent[last] = copy.deepcopy(value)
    return changed


def read(document):
    return Instance.from_json(json.dumps(document))


def build(document):
    """The same instance made in Python, of plain dictionaries and lists."""
    return Instance(**document)


def leaves(value, path=""):
    """Path and value of everything in a document that is not itself an object or array."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


NUMBERS = [
    path for path, value in leaves(RICH) if isinstance(value, int | float) and not path.startswith("version")
]
