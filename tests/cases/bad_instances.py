"""Everything that is refused in an instance, as one table: where it is, what, and what is said about it.

``BAD`` lists where in the document ``RICH`` something is written, what, the words of the message, and where
it is reported (the same place unless given). ``DATA_TABLES`` does the same for tables of the data law.
"""

from typing import Any, NamedTuple

from tests.cases.documents import ABSENT, RICH, T5, Document

NO_SPREAD = "is below 1e-12; use a normal or deterministic law"
PAIR = "give exactly shape and scale, or exactly mean and variance; got "
LOG_PAIR = "give exactly log_mean and log_variance, or exactly mean and variance; got "


class Bad(NamedTuple):
    """``value`` written at ``place`` is refused at ``path`` (default: there) in the words ``message``."""

    place: str
    value: Any
    message: str
    path: str | None = None


IMPROVEMENT = "models[1].improvement"
NOISE = f"{IMPROVEMENT}.noise"

UNKNOWN_FIELDS = [
    Bad(
        f"{place}.colour".lstrip("."),
        "red",
        "contains unknown field `colour`; the fields are listed by",
        place,
    )
    for place in (
        "",
        "clusters[1]",
        "datasets[0]",
        "models[2]",
        "models[0].improvement",
        "models[1].improvement",
        "models[2].improvement",
        "models[2].improvement.epochs[3]",
        "models[0].improvement.noise",
        "models[1].compute[0]",
        "target",
        "transfers[0]",
        "switches[1]",
        "switches[0].law",
        "other_switches",
        "data_law",
        "provenance[0]",
    )
]

MISSING_FIELDS = [
    Bad(place, ABSENT, f"missing required field `{field}`; the fields are listed by", parent)
    for place in (
        "name",
        "clusters",
        "datasets",
        "models",
        "target",
        "clusters[0].name",
        "clusters[0].capacity",
        "clusters[0].bandwidth",
        "clusters[0].unit_cost",
        "datasets[0].name",
        "datasets[0].volume",
        "models[0].name",
        "models[0].size",
        "models[0].improvement",
        "models[0].improvement.shape",
        "models[0].improvement.scale",
        "models[0].improvement.noise",
        "models[1].improvement.noise",
        "models[1].improvement.noise.type",
        "models[1].improvement.noise.mean",
        "models[1].improvement.noise.variance",
        "models[1].compute[0].epochs",
        "models[2].improvement.epochs",
        "models[2].improvement.epochs[1].noise.value",
        "models[2].improvement.epochs[2].noise.values",
        "target.initial_loss",
        "target.maximum_loss",
        "target.quantile_level",
        "target.maximum_epochs",
        "transfers[0].dataset",
        "transfers[0].cluster",
        "transfers[0].cost",
        "switches[0].from",
        "switches[0].to",
        "switches[0].law",
        "switches[0].law.degrees_of_freedom",
        "switches[0].law.location",
        "switches[0].law.scale",
        "data_law.p",
        "provenance[0].path",
        "provenance[0].source",
    )
    for parent, _, field in (place.rpartition("."),)
]

SIGNS_AND_RANGES = [
    Bad("clusters[1].capacity", 0, "Expected `float` > 0.0"),
    Bad("clusters[1].capacity", -4, "Expected `float` > 0.0"),
    Bad("clusters[0].bandwidth", 0, "Expected `float` > 0.0"),
    Bad("clusters[0].unit_cost", -0.5, "Expected `float` >= 0.0"),
    Bad("clusters[0].nodes", 0, "Expected `int` >= 1"),
    Bad("clusters[0].nodes", 2 * 10**9, "Expected `int` <= 1000000000"),
    Bad("datasets[1].volume", 0, "Expected `float` > 0.0"),
    Bad("datasets[0].work", 0, "Expected `float` > 0.0"),
    Bad("transfers[0].cost", -1, "Expected `float` >= 0.0"),
    Bad("models[0].size", -1, "Expected `float` >= 0.0"),
    Bad("models[0].demand", 0, "Expected `float` > 0.0"),
    Bad("models[0].improvement.offset", -1, "Expected `float` > -1.0"),
    Bad("models[1].compute[1].epochs[1]", -1, "Expected `float` >= 0.0"),
    Bad("target.quantile_level", 0, "Expected `float` > 0.0"),
    Bad("target.quantile_level", 1, "Expected `float` < 1.0"),
    Bad("target.quantile_level", 95, "Expected `float` < 1.0"),
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
    Bad("target.maximum_time", 0, "Expected `float` > 0.0"),
    Bad("target.round_deadline", -12, "Expected `float` > 0.0"),
    Bad("clusters", [], "Expected `array` of length >= 1"),
    Bad("datasets", [], "Expected `array` of length >= 1"),
    Bad("models", [], "Expected `array` of length >= 1"),
    Bad("models[1].compute", [], "Expected `array` of length >= 1"),
    Bad("models[1].compute[0].epochs", [], "Expected `array` of length >= 1"),
    Bad("models[2].improvement.epochs", [], "Expected `array` of length >= 1"),
    Bad("provenance[0].path", "clusters", "matching regex"),
]

WRONG_TYPES = [
    Bad("clusters", {}, "Expected `array`, got `object`"),
    Bad("clusters[1]", "edge", "Expected `object`, got `str`"),
    Bad("clusters[1].capacity", "4", "Expected `float`, got `str`"),
    Bad("clusters[1].capacity", True, "Expected `float`, got `bool`"),
    Bad("clusters[1].capacity", None, "Expected `float`, got `null`"),
    Bad("clusters[1].capacity", [4], "Expected `float`, got `array`"),
    Bad("clusters[0].nodes", 1.5, "Expected `int`, got `float`"),
    Bad("clusters[0].name", 7, "Expected `str`, got `int`"),
    Bad("target", [20, 9], "Expected `object`, got `array`"),
    Bad("target.maximum_epochs", 4.5, "Expected `int`, got `float`"),
    Bad("target.maximum_time", "none", "Expected `float | null`, got `str`"),
    Bad("models[0].improvement", 2, "Expected `object`, got `int`"),
    Bad("models[0].improvement.shape", "linear", "Invalid value 'linear'"),
    Bad("models[2].improvement.epochs[0].shape", "inverse_sqrt", "Invalid value 'inverse_sqrt'"),
    Bad(f"{NOISE}.type", "cauchy", "Invalid value 'cauchy'"),
    Bad(f"{NOISE}.type", 3, "Expected `str`"),
    Bad(NOISE, T5, "Invalid value 'student_t'", f"{NOISE}.type"),
    Bad(NOISE, {"type": "zero"}, "Invalid value 'zero'", f"{NOISE}.type"),
    Bad("other_switches", RICH["models"][0]["improvement"]["noise"], "Invalid value", "other_switches.type"),
    Bad("switches[0].law.type", "lognormal", "Invalid value 'lognormal'"),
    Bad("data_law", {"type": "linear"}, "Invalid value 'linear'", "data_law.type"),
    Bad("provenance[0].source", "invented", "Invalid enum value 'invented'"),
]

BEYOND_DOUBLE_PRECISION = [
    Bad(place, value, f"{value} is beyond what double precision can calculate with; rescale")
    for value in (1e101, 1e300, 1e-101, 5e-324)
    for place in (
        "clusters[1].capacity",
        "target.initial_loss",
        f"{NOISE}.mean",
        "models[1].compute[0].epochs[2]",
    )
]

NAMES = [
    Bad("clusters[0].name", "", "Expected `str` of length >= 1"),
    Bad("datasets[0].name", "archive ", "which 'depl instances schema' describes"),
    Bad("models[0].name", "full\n", "which 'depl instances schema' describes"),
    Bad("name", " ", "which 'depl instances schema' describes"),
    Bad("clusters[1].name", "cloud", "'cloud' is defined twice; keep one", "clusters[1]"),
    Bad("datasets[1].name", "archive", "'archive' is defined twice; keep one", "datasets[1]"),
    Bad("models[2].name", "full", "'full' is defined twice; keep one", "models[2]"),
    Bad("transfers", 2 * RICH["transfers"], "('archive', 'edge') is defined twice; keep one", "transfers[1]"),
    Bad("switches", 2 * RICH["switches"], "('full', 'pruned') is defined twice; keep one", "switches[2]"),
    Bad("transfers[0].dataset", "tape", "'tape' is not defined; known are archive, sensors"),
    Bad("transfers[0].cluster", "moon", "'moon' is not defined; known are cloud, edge"),
    Bad("switches[1].from", "tiny", "'tiny' is not defined; known are full, pruned, tabled"),
    Bad("switches[1].to", "tiny", "'tiny' is not defined; known are full, pruned, tabled"),
    Bad("switches[1].to", "pruned", "a model does not switch to itself; remove the row", "switches[1]"),
    Bad("target.initial_model", "tiny", "'tiny' is not defined; known are full, pruned, tabled"),
    Bad("models[1].compute[1].dataset", "tape", "'tape' is not defined; known are archive, sensors"),
]

IMPOSSIBLE_LAWS = [
    Bad(place, {"type": kind, **parameters}, message, f"{place}{inner}")
    for place, kind, parameters, inner, message in [
        (NOISE, "inverse_gamma", {"shape": 1, "scale": 1}, ".shape", "Expected `float` > 1.0"),
        (NOISE, "inverse_gamma", {"shape": 0.5, "scale": 1}, ".shape", "Expected `float` > 1.0"),
        (NOISE, "inverse_gamma", {"shape": 3, "scale": 0}, ".scale", "Expected `float` > 0.0"),
        (NOISE, "inverse_gamma", {"mean": 0, "variance": 1}, ".mean", "Expected `float` > 0.0"),
        (NOISE, "inverse_gamma", {"mean": 1, "variance": 0}, ".variance", "Expected `float` > 0.0"),
        (NOISE, "inverse_gamma", {"mean": 1, "variance": -1}, ".variance", "Expected `float` > 0.0"),
        (NOISE, "inverse_gamma", {}, "", PAIR + "none"),
        (NOISE, "inverse_gamma", {"shape": 3}, "", PAIR + "['shape']"),
        (NOISE, "inverse_gamma", {"shape": 3, "mean": 1}, "", PAIR + "['shape', 'mean']"),
        (NOISE, "inverse_gamma", {"shape": 3, "scale": 1, "mean": 0.5, "variance": 0.25}, "", PAIR),
        (NOISE, "inverse_gamma", {"shape": 1e13, "scale": 1e13}, "", NO_SPREAD),
        (NOISE, "inverse_gamma", {"mean": 1e10, "variance": 1e-3}, "", NO_SPREAD),
        (NOISE, "inverse_gamma", {"mean": 1e100, "variance": 1e-100}, "", NO_SPREAD),
        (NOISE, "normal", {"mean": 1, "variance": 0}, ".variance", "Expected `float` > 0.0"),
        (NOISE, "normal", {"mean": 1, "variance": -1}, ".variance", "Expected `float` > 0.0"),
        (NOISE, "lognormal", {"log_mean": 0, "log_variance": 0}, ".log_variance", "Expected `float` > 0.0"),
        (NOISE, "lognormal", {"mean": -1, "variance": 1}, ".mean", "Expected `float` > 0.0"),
        (NOISE, "lognormal", {"mean": 1, "variance": 0}, ".variance", "Expected `float` > 0.0"),
        (NOISE, "lognormal", {}, "", LOG_PAIR + "none"),
        (NOISE, "lognormal", {"log_mean": 0}, "", LOG_PAIR + "['log_mean']"),
        (NOISE, "lognormal", {"log_mean": 0, "variance": 1}, "", LOG_PAIR),
        (NOISE, "lognormal", {"log_mean": 0, "log_variance": 1, "mean": 1, "variance": 1}, "", LOG_PAIR),
        (NOISE, "lognormal", {"log_mean": 200, "log_variance": 1}, "", "the moments overflow; rescale, or"),
        (NOISE, "lognormal", {"log_mean": 0, "log_variance": 200}, "", "choose a smaller variance"),
        (NOISE, "lognormal", {"mean": 1, "variance": 1e90}, "", "the moments overflow; rescale, or"),
        (NOISE, "lognormal", {"mean": 1e-100, "variance": 1}, "", "the moments overflow; rescale, or"),
        (NOISE, "lognormal", {"log_mean": 0, "log_variance": 1e-13}, "", NO_SPREAD),
        (NOISE, "lognormal", {"mean": 1, "variance": 1e-13}, "", NO_SPREAD),
        (NOISE, "empirical", {"values": []}, ".values", "Expected `array` of length >= 1"),
        (NOISE, "empirical", {"values": [1], "weights": []}, ".weights", "Expected `array` of length >= 1"),
        (NOISE, "empirical", {"values": [1], "weights": [0]}, ".weights[0]", "Expected `float` > 0.0"),
        (NOISE, "empirical", {"values": [1, 2], "weights": [1, -1]}, ".weights[1]", "Expected `float` > 0.0"),
        (
            NOISE,
            "empirical",
            {"values": [1, 2, 3], "weights": [1, 1]},
            ".weights",
            "has 2 entries for 3 values; give one weight per value",
        ),
        (
            "other_switches",
            "student_t",
            {**T5, "degrees_of_freedom": 0},
            ".degrees_of_freedom",
            "`float` > 0.0",
        ),
        ("other_switches", "student_t", {**T5, "scale": 0}, ".scale", "Expected `float` > 0.0"),
        (
            "other_switches",
            "student_t",
            {**T5, "degrees_of_freedom": 1},
            ".degrees_of_freedom",
            "an untruncated Student-t needs more than 1 degree of freedom to have a mean; truncate it",
        ),
        (
            "switches[0].law",
            "student_t",
            {**T5, "lower": 0},
            "",
            "give both lower and upper to truncate the law",
        ),
        (
            "switches[0].law",
            "student_t",
            {**T5, "upper": 1},
            "",
            "give both lower and upper to truncate the law",
        ),
        (
            "switches[0].law",
            "student_t",
            {**T5, "lower": 1, "upper": 1},
            ".upper",
            "must lie above lower = 1.0",
        ),
        (
            "switches[0].law",
            "student_t",
            {**T5, "lower": 2, "upper": 1},
            ".upper",
            "must lie above lower = 2.0",
        ),
        (
            "switches[0].law",
            "student_t",
            {**T5, "degrees_of_freedom": 50, "lower": 9, "upper": 10},
            ".lower",
            "the interval [lower, upper] has probability zero under this law; move it",
        ),
        (
            "switches[0].law",
            "student_t",
            {**T5, "location": 1e10},
            ".scale",
            "is lost in the rounding of location = 10000000000.0; use a deterministic law",
        ),
    ]
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
        ("InverseGamma", {"type": "inverse_gamma", "mean": 1, "variance": 1}),
        ("InverseGamma", {"type": "inverse_gamma", "shape": 9, "scale": 1}),
        ("Lognormal", {"type": "lognormal", "mean": 1, "variance": 1}),
    ]
]


def subsets(*rows: tuple[str, float]) -> Document:
    return {"type": "table", "subsets": [{"datasets": list(names), "epochs": value} for names, value in rows]}


def letters(document: Document, names: str) -> Document:
    """The document with one dataset per letter, and nothing that refers to other ones."""
    document["datasets"] = [{"name": name, "volume": 1} for name in names]
    document["transfers"] = []
    del document["models"][1]["compute"]
    return document


DATA_LAWS = [
    Bad(
        "data_law",
        {"type": "log", "a": 1, "b": 1},
        "K^ is not positive when all datasets are used; raise a, or",
    ),
    Bad("data_law", {"type": "log", "a": 9, "b": -1}, "Expected `float` >= 0.0", "data_law.b"),
    Bad("data_law", {"type": "log", "a": 9, "b": 1, "base_volume": -1}, ">= 0.0", "data_law.base_volume"),
    Bad("data_law", {"type": "inverse_log", "a": 0}, "Expected `float` > 0.0", "data_law.a"),
    Bad("data_law", {"type": "power", "p": -1}, "Expected `float` >= 0.0", "data_law.p"),
    Bad("data_law", {"type": "power", "p": 1000}, "K^ is not positive when all datasets are used"),
    Bad("data_law", {"type": "power", "p": 1, "a": -1}, "Expected `float` > 0.0", "data_law.a"),
    Bad("data_law", {"type": "table", "subsets": []}, "of length >= 1", "data_law.subsets"),
    Bad("data_law", subsets(("", 1)), "of length >= 1", "data_law.subsets[0].datasets"),
]

DATA_TABLES = [  # on the datasets a, b, c, ...
    ("ab", subsets(("a", 3), ("ab", 2)), ".subsets", "does not list the subset ['b']; add it"),
    ("ab", subsets(("a", 3), ("b", 3)), ".subsets", "does not list the subset ['a', 'b']; add it"),
    ("ab", subsets(("a", 3), ("b", 0), ("ab", 2)), ".subsets[1].epochs", "Expected `float` > 0.0"),
    ("ab", subsets(("a", 3), ("b", 3), ("ab", 2), ("ba", 2)), ".subsets[3]", "['a', 'b'] is defined twice"),
    (
        "ab",
        subsets(("a", 3), ("bb", 3), ("ab", 2)),
        ".subsets[1].datasets[1]",
        "'b' is defined twice; keep one",
    ),
    (
        "ab",
        subsets(("a", 3), ("bx", 3), ("ab", 2)),
        ".subsets[1].datasets[1]",
        "'x' is not defined; known are",
    ),
    (
        "ab",
        subsets(("a", 3), ("b", 2), ("ab", 2.5)),
        ".subsets",
        "K^ grows from 2.0 to 2.5 when 'a' joins ['b']; more data may not need more epochs",
    ),
    ("abcdefghijklm", subsets(("a", 1)), ".subsets", "does not list the subset ['b']; add it"),
]

TABLES = [
    Bad(
        "models[1].compute[1].epochs",
        [1, 2, 3],
        "has 3 entries for maximum_epochs = 4; give one entry per epoch",
    ),
    Bad(
        "models[2].improvement.epochs",
        RICH["models"][2]["improvement"]["epochs"][:2],
        "has 2 entries for maximum_epochs = 4; give one entry per epoch",
    ),
    Bad(
        "models[1].compute",
        RICH["models"][1]["compute"][:1],
        "has no table for dataset 'sensors'; add one",
    ),
    Bad(
        "models[1].compute",
        2 * [{"epochs": [1, 2, 3, 4]}],
        "give one table without a dataset, or one table per dataset",
    ),
    Bad(
        "models[1].compute",
        2 * RICH["models"][1]["compute"],
        "give one table without a dataset, or one table per dataset",
    ),
    Bad(
        "models[1].compute",
        [{"epochs": [1, 2, 3, 4]}, *RICH["models"][1]["compute"]],
        "give one table without a dataset, or one table per dataset",
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
]
