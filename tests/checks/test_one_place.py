"""What is written in one place alone: a pattern of source, the files that may have it, and what others do."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("models", "heuristics", "instances", "depl/commands", "depl/showing")

CLOSED_FORM = re.compile(
    r"sqrt\([^()\n]*(\bprice|unit_price|kappa)|\b(min|minimum|clip)\([^\n]*\bleast\b[^\n]*\b(capacity|full)\b"
)
LEARNING = re.compile(
    r"\.(improvement|switches|other_switches|switch_law|data_law|learning_factor|epochs_needed|demand|workload)\b"
    r"|(getattr|attrgetter)\([^\n]*\"(improvement|switches|data_law)\""
    r"|\b(InverseSqrtImprovement|ConstantImprovement|TabledImprovement|ComputeTable)\b"
    r"|\b(LogDataLaw|InverseLogDataLaw|PowerDataLaw|TableDataLaw)\b"
)
GROUPS = re.compile(r"\b(place|cluster|item)\.groups\b")
TOLERANCE = re.compile(r"^_?(TIME|ATOM|PROOF|PROVED)(_TOLERANCE)? = [\d.]", re.MULTILINE)

UNREAD = re.compile(r'#[^\n]*|""".*?"""|from depl\.[\w.]+ import', re.DOTALL)
"""Comments, docstrings and names of modules."""

PLACES = {
    "the closed form of the resources": (
        CLOSED_FORM,
        ("models", "heuristics", "instances", "benchmarks"),
        ("models/problem/epoch_costs.py",),
        "call depl.models.problem.epoch_costs",
    ),
    "laws of learning": (
        LEARNING,
        ("models", "heuristics"),
        (
            "models/problem/learning.py",  # defines them
            "models/problem/instance.py",  # defines and validates the instance
            "models/problem/epochs.py",  # turns them into LossStep and Load
            "models/problem/traced_law.py",  # a traced law stands in place of data_law
            "models/verifier/reading.py",  # reads them a second time, on purpose
            "heuristics/data/epochs_needed.py",  # stage 1 weighs K^ itself, over all volumes
            "models/estimation/",  # turns fitted curves into improvements, and a setup into an instance
            # `Learning.switches` are loss steps of `depl.models.problem.epochs`, not laws of an instance
            "heuristics/bounds/dual.py",
            "heuristics/bounds/learning.py",
            "heuristics/bounds/tilted_learning.py",
            "heuristics/depl/models.py",
            "heuristics/depl/priced_sites.py",
        ),
        "consume LossStep and Load of depl.models.problem.epochs",
    ),
    "single nodes of a cluster": (
        GROUPS,
        LAYERS,
        ("depl/showing/explain.py", "depl/showing/instances.py", "models/verifier/reading.py"),
        "a cluster has the values of equal nodes",
    ),
    "tolerances": (
        TOLERANCE,
        ("models", "heuristics"),
        ("models/foundation/tolerances.py", "models/verifier/tolerances.py"),
        "import them from depl.models.foundation.tolerances",
    ),
}


@pytest.mark.parametrize("what", PLACES)
def test_it_stands_in_its_places_and_in_all_of_them(what):
    pattern, layers, places, instead = PLACES[what]
    found = {
        path.relative_to(ROOT).as_posix()
        for layer in layers
        for path in (ROOT / layer).rglob("*.py")
        if pattern.search(UNREAD.sub("", path.read_text(encoding="utf-8")))
    }
    others = {name for name in found if not name.startswith(places)}
    assert not others, f"{instead} instead"
    stale = {place for place in places if not any(name.startswith(place) for name in found)}
    assert not stale, f"{what} no longer stand there"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (CLOSED_FORM, "free = np.where(price > 0, math.sqrt(lam) * np.sqrt(work / self.price), math.inf)"),
        (CLOSED_FORM, "slope = math.sqrt(multiplier / price[n]) if price[n] > 0 else math.inf"),
        (CLOSED_FORM, "x = np.minimum(np.maximum(free, least), coarse.capacity)"),
        (CLOSED_FORM, "chosen = np.clip(slope * np.sqrt(curves.work), curves.least, curves.capacity)"),
        (LEARNING, "model.improvement.at(1)"),
        (LEARNING, "[row.law for row in instance.switches]"),
        (LEARNING, 'getattr(model, "improvement")'),
        (LEARNING, "from depl.models.problem.learning import PowerDataLaw"),
        (TOLERANCE, "ATOM_TOLERANCE = 1e-9"),
        (TOLERANCE, "_PROVED = 1e-7"),
    ],
)
def test_a_second_place_would_be_found(pattern, line):
    assert pattern.search(line)
