"""Pages solve the same few instances again and again: what a shipped method answered once is shown again.

So is what was fitted to shipped runs; slow tests make it anew.
"""

import functools

import pytest

import depl
from depl.benchmarks.figures import comparison
from depl.instances.library import load
from depl.instances.setups import load_setup
from depl.models.estimation import instance as fitted
from depl.models.estimation.choices import CARE
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving import methods
from depl.models.solving import solve as solving
from depl.models.traces.fingerprints import fingerprints

SHIPPED = {method.name: method for method in methods.registered()}
SOLVE = solving.solve


KNOWN = {}


@functools.wraps(SOLVE)
def answer(instance, method=None, **wanted):
    """`depl.solve` that keeps its answers; they are those of the same instance, method and options.

    Not kept is what depends on more: on scenarios, on a clock, on a method that a page has registered.
    """
    name = methods.default_method(instance) if method is None else method
    registered = {item.name: item for item in methods.registered()}
    if wanted.keys() - {"options"} or name not in SHIPPED or registered.get(name) is not SHIPPED[name]:
        return SOLVE(instance, method, **wanted)
    options = wanted.get("options") or {}
    key = (instance.to_json(), name, repr(sorted(options.items())))
    if key not in KNOWN:
        KNOWN[key] = SOLVE(instance, method, options=options)
    return KNOWN[key]


@pytest.fixture(autouse=True)
def solved_once(monkeypatch):
    """Where pages and their tests find it; commands solve as they are."""
    assert depl.solve is SOLVE
    places = (depl, solving, comparison)
    for place in places:
        monkeypatch.setattr(place, "solve", answer)


DEFAULTS_OF_FIT = {"law": "affine", "residuals": "per_run", "care": CARE, "metric": "loss"}
DEFAULTS_OF_FIT |= dict.fromkeys(("scale", "confidence", "diverged", "name"))
"""What the shipped instances were fitted with."""


@pytest.fixture
def shipped_fits(monkeypatch):
    """Shipped runs fitted to their setup, by default choices, are read from the file of the fit."""
    own = fitted.fit_instance

    def fit(traces, setup, **options):
        try:
            shipped, known = load(setup.name), load_setup(setup.name)
        except InvalidInputError:
            return own(traces, setup, **options)
        same = setup == known and fingerprints(traces) == shipped.run_fingerprints
        return (
            shipped if same and options.items() <= DEFAULTS_OF_FIT.items() else own(traces, setup, **options)
        )

    monkeypatch.setattr(fitted, "fit_instance", fit)
    monkeypatch.setattr("depl.runs.fit_instance", fit)
