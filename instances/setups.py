"""The shipped setups, the reading of a user's own, and a commented one to start from.

A setup (`depl.models.estimation.setup`) is what ``depl fit`` needs besides traces. Files may contain
whole-line comments that begin with ``//``.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from depl.instances.shipped import names, strip_comments, text_of
from depl.instances.template import FOLDER
from depl.models.estimation.advice import Reach
from depl.models.estimation.setup import Setup, SetupTarget
from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import rounded_up
from depl.models.problem.instance import Cluster, Dataset, Provenance, SetupModel
from depl.models.traces.table import Traces


def setup_names() -> tuple[str, ...]:
    """Names of the shipped setups, sorted."""
    return names("setups")


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
            return parse_setup(text_of(f"setups/{text}"))
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
    return (FOLDER / "setup.jsonc").read_text(encoding="utf-8")


def setup_of(
    traces: Traces, reach: Reach | None, told: Mapping[str, Mapping[str, float]], note: str
) -> Setup:
    """A setup for runs and what they reach; what is not ``told`` of price, capacity and work by name is 1."""
    models, clusters = names_of(traces)
    price, capacity, work = (told.get(name, {}) for name in ("price", "capacity", "work"))
    level, loss = (0.9, 1.0) if reach is None else (reach.level, float(rounded_up(reach.loss, 3)))
    epochs = int(traces.last_epochs.max())
    return Setup(
        name="my-training",
        clusters=tuple(
            Cluster(name=name, capacity=capacity.get(name, 1), bandwidth=1, unit_cost=price.get(name, 1))
            for name in clusters
        ),
        datasets=(Dataset(name="all", volume=1),),
        models=tuple(SetupModel(name=name, size=0, demand=work.get(name, 1)) for name in models),
        target=SetupTarget(
            maximum_loss=loss, quantile_level=level, maximum_epochs=epochs, maximum_time=epochs
        ),
        provenance=(Provenance(path="$", source="assumed", note=note),),
    )


def names_of(traces: Traces) -> tuple[list[str], list[str]]:
    """Models and clusters of runs, in the order in which they were first trained."""
    models, clusters = zip(*(place for schedule in traces.schedules for place in schedule), strict=True)
    return list(dict.fromkeys(models)), list(dict.fromkeys(clusters))
