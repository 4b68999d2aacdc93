"""Everything that is refused in an instance or a plan: a table per document of places, values and words.

``BAD`` is of the document ``RICH``, ``BAD_TABLES`` of it with other datasets, ``BAD_TRACES`` of ``TRACED``,
and ``BAD_PLANS`` and ``BAD_NAMES`` of the plans ``WHOLE`` and ``NAMING``.
"""

import json
from typing import Any, NamedTuple

import pytest

from tests.cases.documents import ABSENT, RICH, T5, put
from tests.cases.memory_cases import instance_of
from tests.problems import refusal

NO_SPREAD = "is below 1e-12; use a normal or deterministic law"
NO_INTERVAL = "give both lower and upper to truncate the law"
PAIR = "give exactly shape and scale, or exactly mean and variance; got "
OVERFLOW = "the moments overflow; rescale, or"
ABOVE_ZERO = "Expected `float` > 0.0"
NOT_EMPTY = "Expected `array` of length >= 1"
UNNAMED = "which 'depl instances schema' describes"


class Bad(NamedTuple):
    """``value`` written at ``place`` is refused at ``path`` (default: there) in the words ``message``.

    ``alone`` says that this is the one mistake that is told.
    """

    place: str
    value: Any
    message: str
    path: str | None = None
    alone: bool = True

    @property
    def where(self):
        """Where it is reported, without the root."""
        return self.place if self.path is None else self.path


def each(bads):
    """A test of every row, named after it."""
    names = [f"{bad.place} = {'absent' if bad.value is ABSENT else bad.value}"[:90] for bad in bads]
    return pytest.mark.parametrize("bad", bads, ids=names)


def refused(make, document, bad, root="$."):
    """The refusal of a document with one bad value, in the words and at the place of the table."""
    error = refusal(make, put(document, bad.place, bad.value))
    assert bad.message in error.message
    assert bad.alone == (len(error.mistakes) == 1), "a consequence is told, too"
    assert error.path == (f"{root}{bad.where}".rstrip(".") if root == "$." else f"{root}{bad.where}")
    return error


IMPROVEMENT = "models[1].improvement"
NOISE = f"{IMPROVEMENT}.noise"

PARTS = """
    clusters[1] datasets[0] models[2] target transfers[0] switches[1] switches[0].law other_switches
    models[0].improvement models[1].improvement models[2].improvement models[2].improvement.epochs[3]
    models[0].improvement.noise models[1].compute[0] data_law provenance[0]
"""
UNKNOWN = "there is no such field; known are "
UNKNOWN_FIELDS = [
    Bad("colour", "red", UNKNOWN),
    *(Bad(f"{place}.colour", "red", UNKNOWN) for place in PARTS.split()),
]

REQUIRED = """
    name clusters[0].name clusters[0].unit_cost datasets[0].volume models[0].size models[0].improvement
    models[0].improvement.shape models[0].improvement.noise models[1].improvement.noise.type
    models[1].improvement.noise.variance models[1].compute[0].epochs models[2].improvement.epochs
    target.initial_loss target.quantile_level target.maximum_epochs transfers[0].cost switches[0].from
    switches[0].law switches[0].law.degrees_of_freedom data_law.p provenance[0].path
"""
MISSING_FIELDS = [Bad(place, ABSENT, "is missing") for place in REQUIRED.split()]

LEAST = {
    "> 0.0": (
        *("clusters[1].capacity", "clusters[0].bandwidth", "datasets[1].volume", "datasets[0].work"),
        *("models[0].demand", "target.quantile_level", "target.maximum_time", "target.round_deadline"),
        "clusters[0].memory",
    ),
    ">= 0.0": (
        *("clusters[0].unit_cost", "transfers[0].cost", "models[0].size", "models[1].compute[1].epochs[1]"),
        "models[0].memory",
    ),
}
"""Ends of the ranges of numbers, by the places that have them."""
LISTS = """
    clusters datasets models models[1].compute models[1].compute[0].epochs models[2].improvement.epochs
    datasets[0].clusters target.deployable
"""

SIGNS_AND_RANGES = [
    *(Bad(place, 0, f"Expected `float` {end}") for end in ("> 0.0",) for place in LEAST[end]),
    *(Bad(place, -0.5, f"Expected `float` {end}") for end, places in LEAST.items() for place in places),
    *(Bad(place, [], NOT_EMPTY) for place in LISTS.split()),
    Bad("clusters[0].nodes", 0, "Expected `int` >= 1"),
    Bad("clusters[0].nodes", 2 * 10**9, "Expected `int` <= 1000000000"),
    Bad("models[0].improvement.offset", -1, "Expected `float` > -1.0"),
    Bad("target.quantile_level", 1, "Expected `float` < 1.0"),
    Bad(
        "target.quantile_level",
        0.999999999999999,
        "leaves a violation budget of 1.0e-15, which cannot be told",
    ),
    Bad(
        "target",
        {**RICH["target"], "initial_loss": 2e-8, "maximum_loss": -1e-9},
        "losses of at most 2e-08 cannot be told from the tolerance of 1e-9",
    ),
    Bad("target.maximum_epochs", -1, "Expected `int` >= 0"),
    Bad("target.maximum_epochs", 1_000_001, "Expected `int` <= 1000000"),
    Bad("provenance[0].path", "clusters", "matching regex"),
]

WRONG_TYPES = [
    *(
        Bad("clusters[1].capacity", value, f"Expected `float`, got `{kind}`")
        for value, kind in (("4", "str"), (True, "bool"), (None, "null"), ([4], "array"))
    ),
    Bad("models[0].improvement.shape", "linear", "Invalid value 'linear'"),
    Bad("models[2].improvement.epochs[0].shape", "inverse_sqrt", "Invalid value 'inverse_sqrt'"),
    Bad(f"{NOISE}.type", "cauchy", "Invalid value 'cauchy'"),
    Bad(NOISE, T5, "Invalid value 'student_t'", f"{NOISE}.type"),
    Bad("switches[0].law.type", "lognormal", "Invalid value 'lognormal'"),
    Bad("data_law", {"type": "linear"}, "Invalid value 'linear'", "data_law.type"),
    Bad("provenance[0].source", "invented", "Invalid enum value 'invented'"),
]

BEYOND_DOUBLE_PRECISION = [
    Bad(place, value, f"{value} is beyond what double precision can calculate with; rescale")
    for value in (1e101, 5e-324)
    for place in (
        "clusters[1].capacity",
        f"{NOISE}.mean",
        "models[1].compute[0].epochs[2]",
    )
]

NAMES = [
    Bad("clusters[0].name", "", "Expected `str` of length >= 1"),
    *(Bad(place, name, UNNAMED) for place, name in (("datasets[0].name", "a "), ("models[0].name", "a\n"))),
    Bad("name", " ", UNNAMED),
    *(
        Bad(f"{place}.name", name, f"'{name}' is defined twice; keep one", place)
        for place, name in (("clusters[1]", "cloud"), ("datasets[1]", "archive"), ("models[2]", "full"))
    ),
    Bad("transfers", 2 * RICH["transfers"], "('archive', 'edge') is defined twice; keep one", "transfers[1]"),
    Bad("switches", 2 * RICH["switches"], "('full', 'pruned') is defined twice; keep one", "switches[2]"),
    Bad("switches[1].to", "pruned", "a model does not switch to itself; remove the row", "switches[1]"),
    *(
        Bad(place, "moon", f"'moon' is not defined; known are {known}")
        for known, places in {
            "archive, sensors": ("transfers[0].dataset", "models[1].compute[1].dataset"),
            "cloud, edge": ("transfers[0].cluster",),
            "full, pruned, tabled": ("switches[1].from", "switches[1].to", "target.initial_model"),
        }.items()
        for place in places
    ),
]

JUMP_LAW = "switches[0].law"
LAWS = {
    "inverse_gamma": [
        ({"shape": 1, "scale": 1}, ".shape", "Expected `float` > 1.0"),
        ({"shape": 3, "scale": 0}, ".scale", ABOVE_ZERO),
        ({"mean": 0, "variance": 1}, ".mean", ABOVE_ZERO),
        ({"mean": 1, "variance": 0}, ".variance", ABOVE_ZERO),
        ({}, "", PAIR + "none"),
        ({"shape": 3}, "", PAIR + "['shape']"),
        ({"shape": 3, "scale": 1, "mean": 0.5, "variance": 0.25}, "", PAIR),
        ({"shape": 1e13, "scale": 1e13}, "", NO_SPREAD),
        ({"mean": 1e100, "variance": 1e-100}, "", NO_SPREAD),
    ],
    "normal": [({"mean": 1, "variance": 0}, ".variance", ABOVE_ZERO)],
    "lognormal": [
        ({"log_mean": 0, "log_variance": 0}, ".log_variance", ABOVE_ZERO),
        ({"log_mean": 200, "log_variance": 1}, "", OVERFLOW),
        ({"log_mean": 0, "log_variance": 200}, "", "choose a smaller variance"),
        ({"mean": 1e-100, "variance": 1}, "", OVERFLOW),
        ({"mean": 1, "variance": 1e-13}, "", NO_SPREAD),
    ],
    "empirical": [
        ({"values": [1, 2], "weights": [1, 0]}, ".weights[1]", ABOVE_ZERO),
        ({"values": [1, 2, 3], "weights": [1, 1]}, ".weights", "has 2 entries for 3 values; give one"),
    ],
    "student_t": [
        ({"degrees_of_freedom": 0}, ".degrees_of_freedom", ABOVE_ZERO),
        ({"degrees_of_freedom": 1}, ".degrees_of_freedom", "more than 1 degree of freedom to have"),
        ({"scale": 0}, ".scale", ABOVE_ZERO),
        ({"lower": 0}, "", NO_INTERVAL),
        ({"upper": 1}, "", NO_INTERVAL),
        ({"lower": 1, "upper": 1}, ".upper", "must lie above lower = 1.0"),
        (
            {"degrees_of_freedom": 50, "lower": 9, "upper": 10},
            ".lower",
            "has probability zero under this law",
        ),
        ({"location": 1e10}, ".scale", "is lost in the rounding of location = 10000000000.0; use"),
    ],
}
IMPOSSIBLE_LAWS = [
    Bad(place, {**base, **parameters}, message, f"{place}{inner}")
    for kind, rows in LAWS.items()
    for place, base in ((JUMP_LAW, T5) if kind == "student_t" else (NOISE, {"type": kind}),)
    for parameters, inner, message in rows
]

HEAVY_TAILS_THAT_RAISE_THE_LOSS = [
    Bad(
        place,
        {"shape": shape, "scale": -1, "noise": noise},
        f"a {name} law may not raise the loss (scale -1.0 < 0): its exponential moments are infinite; use a",
        f"{place}.scale",
    )
    for place, shape in [
        (IMPROVEMENT, "constant"),
        (IMPROVEMENT, "inverse_sqrt"),
        ("models[2].improvement.epochs[1]", "constant"),
    ]
    for name, noise in [
        ("InverseGamma", {"type": "inverse_gamma", "shape": 9, "scale": 1}),
        ("Lognormal", {"type": "lognormal", "mean": 1, "variance": 1}),
    ]
]


def subsets(*rows):
    return {"type": "table", "subsets": [{"datasets": list(names), "epochs": value} for names, value in rows]}


DATA_LAWS = [
    Bad(
        "data_law",
        {"type": "log", "a": 1, "b": 1},
        "K^ is not positive when all datasets are used; raise a, or",
    ),
    Bad("data_law", {"type": "log", "a": 9, "b": 1, "base_volume": -1}, ">= 0.0", "data_law.base_volume"),
    Bad("data_law", {"type": "power", "p": -1}, "Expected `float` >= 0.0", "data_law.p"),
    Bad("data_law", {"type": "power", "p": 1000}, "K^ is not positive when all datasets are used"),
    Bad("data_law", subsets(("", 1)), "of length >= 1", "data_law.subsets[0].datasets"),
]

BAD_TABLES = [  # on the datasets a, b, c, ...
    (names, Bad("data_law", subsets(*rows), message, f"data_law.subsets{inner}"))
    for names, rows, inner, message in [
        ("ab", [("a", 3), ("ab", 2)], "", "does not list the subset ['b']; add it"),
        ("ab", [("a", 3), ("b", 3)], "", "does not list the subset ['a', 'b']; add it"),
        ("ab", [("a", 3), ("b", 0), ("ab", 2)], "[1].epochs", ABOVE_ZERO),
        ("ab", [("a", 3), ("b", 3), ("ab", 2), ("ba", 2)], "[3]", "['a', 'b'] is defined twice"),
        ("ab", [("a", 3), ("bb", 3), ("ab", 2)], "[1].datasets[1]", "'b' is defined twice; keep"),
        ("ab", [("a", 3), ("bx", 3), ("ab", 2)], "[1].datasets[1]", "'x' is not defined; known"),
        ("ab", [("a", 3), ("b", 2), ("ab", 2.5)], "", "K^ grows from 2.0 to 2.5 when 'a' joins ['b']"),
    ]
]

PER_EPOCH = "entries for maximum_epochs = 4; give one entry per epoch"
ONE_OR_EACH = "give one table without a dataset, or one table per dataset"
TABLED = RICH["models"][1]["compute"]
TABLES = [
    Bad("models[1].compute[1].epochs", [1, 2, 3], f"has 3 {PER_EPOCH}"),
    Bad("models[2].improvement.epochs", RICH["models"][2]["improvement"]["epochs"][:2], f"has 2 {PER_EPOCH}"),
    Bad("models[1].compute", TABLED[:1], "has no table for dataset 'sensors'; add one"),
    Bad("models[1].compute", 2 * [{"epochs": [1, 2, 3, 4]}], ONE_OR_EACH),
    Bad("models[1].compute", 2 * TABLED, ONE_OR_EACH),
    Bad("models[1].compute", [{"epochs": [1, 2, 3, 4]}, *TABLED], ONE_OR_EACH),
]

SITE_RULES = [
    Bad("datasets[0].clusters", ["moon"], "'moon' is not defined", "datasets[0].clusters[0]"),
    Bad("datasets[0].clusters", ["cloud"] * 2, "'cloud' is defined twice", "datasets[0].clusters[1]"),
    Bad("datasets[0].clusters", ["cloud"], "brings 'archive' to 'edge'", "transfers[0]"),
    Bad("target.deployable", ["large"], "'large' is not defined", "target.deployable[0]"),
    Bad("target.deployable", ["full", "full"], "'full' is defined twice", "target.deployable[1]"),
]

FAST = {"count": 3, "capacity": 4, "bandwidth": 8, "unit_cost": 1, "speed": 2}
SLOW = {"capacity": 6, "bandwidth": 5, "unit_cost": 0.5}
UNEQUAL_NODES = [
    Bad(
        "clusters[1]",
        {"name": "edge", "groups": [FAST, SLOW], **change},
        message,
        f"clusters[1]{inner}",
        change != {"groups": None},  # nor are bandwidth and price given
    )
    for change, inner, message in [
        ({"capacity": 7.0}, ".capacity", "is 7.0, but the groups of the cluster give 6.0; leave it out"),
        ({"bandwidth": 8}, ".bandwidth", "the groups of the cluster give 5.0"),
        ({"unit_cost": 0}, ".unit_cost", "the groups of the cluster give 0.5"),
        ({"nodes": 3}, ".nodes", "the groups of the cluster give 4"),
        ({"groups": None}, ".capacity", "is missing: r(n)"),
        ({"groups": [{**SLOW, "speed": 0}]}, ".groups[0].speed", ABOVE_ZERO),
        ({"groups": [FAST, {**SLOW, "count": 0}]}, ".groups[1].count", "Expected `int` >= 1"),
        ({"groups": [{**SLOW, "count": 600_000_000}] * 2}, ".groups", "have 1200000000 nodes, more than"),
        (
            {"groups": [{**SLOW, "capacity": 1e60, "speed": 1e60}]},
            ".groups",
            "give the cluster a capacity of 1e+120, beyond what double precision can calculate with; rescale",
        ),
    ]
]

UNITS = [
    Bad("units", {"time": "u" * 21}, "Expected `str` of length <= 20", "units.time"),
    *(
        Bad("units", {"time": name}, "a unit is printable text without outer blanks", "units.time")
        for name in (" h", "h ", "h\n", "a\x1b[31m")
    ),
]

BAD = [
    *UNKNOWN_FIELDS,
    *MISSING_FIELDS,
    *SIGNS_AND_RANGES,
    *WRONG_TYPES,
    *BEYOND_DOUBLE_PRECISION,
    *NAMES,
    *IMPOSSIBLE_LAWS,
    *HEAVY_TAILS_THAT_RAISE_THE_LOSS,
    *DATA_LAWS,
    *TABLES,
    *SITE_RULES,
    *UNEQUAL_NODES,
    *UNITS,
]

FULL, CUT = {"model": "full", "cluster": "edge"}, {"model": "cut", "cluster": "far"}
AFTER_FULL = {"previous_model": "full", "previous_cluster": "edge"}
RUNS = [
    {
        "stages": [{**FULL, "epochs": 2}, {**CUT, "epochs": 2}],
        "losses": [2.0, 1.5, 1.25, 1.5 - 0.125 * index, 1.0],
    }
    for index in range(2)
]
LAW = {
    "type": "affine",
    "runs": RUNS,
    "steps": [
        {**FULL, "first": True, "age": 1, "intercept": 0.5, "retention": 0.5},
        {**FULL, "first": True, "age": 2, "ages": [1, 2], "intercept": 0.25, "retention": 0.25},
        {**CUT, "age": 2, "intercept": 0.25, "retention": 0, "start_slope": 0.5},
        {**CUT, "age": 2, **AFTER_FULL, "intercept": 0.125, "retention": 0.5},
    ],
    "jumps": [{**AFTER_FULL, **CUT, "intercept": 1, "retention": 0.25, "pooled": True}],
    "residuals": "independent",
    "unseen_loss": 3.5,
    "deviations": [-0.125, 0.25],
}
TRACED = {**json.loads(instance_of(None).to_json()), "traced_law": LAW}

T = "traced_law"
STEP, LATER, JUMP, RUN = f"{T}.steps[1]", f"{T}.steps[2]", f"{T}.jumps[0]", f"{T}.runs[1]"
BAD_TRACES = [
    Bad(f"{T}.colour", "red", UNKNOWN),
    Bad(f"{RUN}.stages[1].epochs", 0, ">= 1"),
    Bad(f"{RUN}.stages[0].epochs", 3, "has 5 entries for 5 epochs", f"{RUN}.losses"),
    Bad(f"{RUN}.losses", [2.0, 1.0], "give l(0) and one loss per epoch"),
    Bad(f"{RUN}.stages[1]", {"model": "full", "cluster": "edge", "epochs": 2}, "join the two"),
    Bad(f"{STEP}.retention", -0.001, ">= 0"),
    Bad(f"{STEP}.retention", 1.0, "<= 0.99"),
    Bad(f"{STEP}.ages", [2, 1], "least age and then the greatest"),
    Bad(f"{STEP}.previous_model", "cut", "or neither"),
    Bad(f"{STEP}.age", 1, "defined twice", STEP),
    Bad(f"{LATER}.ages", [1, 2], "no age below 2"),
    Bad(f"{LATER}.ages", [3, 4], "the pool holds the age of the step"),
    Bad(f"{LATER}.age", 1, "is a jump; list it there"),
    Bad(f"{LATER}.age", 3, "at least one epoch of a run in its pool", LATER),
    Bad(f"{T}.steps[3].first", True, "nothing comes before a first stage", f"{T}.steps[3].previous_model"),
    Bad(f"{T}.steps[3].previous_cluster", "far", "at least one epoch of a run", f"{T}.steps[3]"),
    Bad(f"{JUMP}.model", "full", "at least one epoch of a run in its pool", JUMP),
    Bad(f"{T}.jumps", 2 * LAW["jumps"], "defined twice", f"{T}.jumps[1]"),
    Bad(JUMP, {**LAW["jumps"][0], "previous_model": "cut", "previous_cluster": "far"}, "makes no jump"),
    Bad("target.initial_model", "full", "give one dataset, no data law and no initial model"),
    Bad("data_law", {"type": "power", "p": 0.5}, "give one dataset, no data law"),
    Bad("datasets", [{"name": "data", "volume": 1}, {"name": "more", "volume": 1}], "give one dataset"),
]

WHOLE = {
    "format": "depl-plan",
    "version": 1,
    "instance": "0" * 64,
    "data": [{"cluster": "cloud", "datasets": ["archive"]}],
    "epochs": [{"model": "full", "cluster": "cloud", "resources": 3}],
    "claims": {
        "cost": 12,
        "training_time": 4.5,
        "violation": {"lower": 0.25, "upper": 0.25},
        "quantile": {"lower": None, "upper": 6.25},
        "cheapest_resources": True,
        "lower_bound": 11,
        "method": "guess",
    },
}
BAD_PLANS = [
    Bad("format", "depl-instance", "a 'depl-plan' one is needed here"),
    Bad("version", 2, "which reads 1; update one of them"),
    *(
        Bad(f"{place}{field}", ABSENT, "is missing")
        for place, fields in {
            "": ["version"],
            "data[0].": ["datasets"],
            "epochs[0].": ["model", "resources"],
            "claims.violation.": ["upper"],
        }.items()
        for field in fields
    ),
    *(Bad(f"{at}colour", 1, UNKNOWN) for at in ("", "epochs[0].", "claims.")),
    Bad("data[0].datasets", [], "Expected `array` of length >= 1"),
    Bad("epochs[0].resources", -1, "Expected `float` >= 0.0"),
]

NAMING = {
    "format": "depl-plan",
    "version": 1,
    "data": [{"cluster": place, "datasets": ["archive"]} for place in ("cloud", "edge")],
    "epochs": [{"model": "full", "cluster": place, "resources": 1} for place in ("cloud", "edge")],
}
ON_CLOUD, ON_EDGE = NAMING["data"]
BAD_NAMES = [
    Bad("data[0].cluster", "moon", "'moon' is not defined; known are cloud, edge"),
    Bad("data[1].cluster", "cloud", "'cloud' is defined twice; keep one", "data[1]"),
    Bad("data[0].datasets", ["cd"], "'cd' is not defined; known are archive, sensors", "data[0].datasets[0]"),
    Bad("data[0].datasets", ["archive"] * 2, "'archive' is defined twice; keep one", "data[0].datasets[1]"),
    Bad("epochs[1].model", "huge", "'huge' is not defined; known are full, pruned"),
    Bad("epochs[1].cluster", "moon", "'moon' is not defined; known are cloud, edge"),
    Bad("data", [ON_CLOUD], "cluster 'edge' has no data in $.data; correct the plan", "epochs[1].cluster"),
    Bad("data", [], "cluster 'cloud' has no data in $.data; correct the plan", "epochs[0].cluster", False),
    Bad("epochs", NAMING["epochs"][:1], "['edge'] get data but never train; remove them", "data"),
    Bad("epochs", [], "['cloud', 'edge'] get data but never train; remove them", "data"),
]
