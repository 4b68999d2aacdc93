"""`depl.fit`: an instance from training runs, as ``depl fit`` makes it."""

import json
from collections.abc import Mapping
from typing import Any

from depl.instances.setups import load_setup
from depl.instances.training.recorded import named_traces
from depl.models.estimation.choices import CARE
from depl.models.estimation.instance import LawOfLoss, fit_instance
from depl.models.estimation.setup import Setup
from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.affine_law import Scale
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import Residuals
from depl.models.traces.table import Traces


@exits_are_errors
def fit(
    runs: Traces | str,
    setup: Setup | str | Mapping[str, Any],
    *,
    target: float | None = None,
    law: LawOfLoss = "affine",
    residuals: Residuals = "per_run",
    scale: Scale | None = None,
    care: float | None = CARE,
    confidence: float | None = None,
    diverged: int | None = None,
    metric: str = "loss",
    name: str | None = None,
) -> Instance:
    """Fit the laws of learning to training runs, and put them into clusters, costs and a target.

    Parameters
    ----------
    runs : Traces or str
        Or the path of a file, or the name of shipped ones.
    setup : Setup, str or mapping
        Or the path of a file, or the name of a shipped one, or its fields as such a file has them.
    target : float, optional
        l_max instead of that of the setup.
    law, residuals, scale, care, confidence, diverged, metric, name
        As in `depl.models.estimation.instance.fit_instance`.

    Returns
    -------
    Instance

    Raises
    ------
    InvalidInputError
        If runs or setup cannot be read or do not fit each other, or an option is impossible.

    Examples
    --------
    >>> fitted = fit("digits-alexnet", "digits-alexnet", target=0.6)
    >>> fitted.target.maximum_loss, fitted.has_memory
    (0.6, True)
    """
    if isinstance(setup, Mapping):
        setup = Setup.from_json(json.dumps({"format": "depl-setup", "version": 1, **setup}))
    chosen = load_setup(setup) if isinstance(setup, str) else setup
    if target is not None:
        chosen = chosen.replace_target(target)
    traces = named_traces(runs) if isinstance(runs, str) else runs
    return fit_instance(
        traces,
        chosen,
        law=law,
        residuals=residuals,
        scale=scale,
        care=care,
        confidence=confidence,
        diverged=diverged,
        metric=metric,
        name=name,
    )
