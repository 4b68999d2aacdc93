"""`depl.certify`: what held-out runs prove of a plan, as ``depl certify`` says it."""

from collections.abc import Iterable

from depl.instances.library import load
from depl.instances.training.recorded import named_traces
from depl.models.estimation.certificate import Certificate, certificate, held_out
from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.traces.table import Schedule, Traces

ChosenBy = Traces | Instance | str
"""What had a part in the choice of a plan; a path that ends with ``.json`` is that of an instance."""


@exits_are_errors
def certify(
    runs: Traces | str,
    target: float,
    level: float,
    confidence: float = 0.95,
    *,
    chosen_by: ChosenBy | Iterable[ChosenBy],
    plan: Plan | Schedule | None = None,
    metric: str = "loss",
    diverged: Iterable[str] = (),
) -> Certificate:
    """Say whether held-out runs prove that a plan keeps its promise, whatever law the loss has.

    Parameters
    ----------
    runs : Traces or str
        Runs of the plan that nobody saw when it was chosen; or the path of a file.
    target, level : float
        l_max and omega: what is promised [loss].
    confidence : float
        Of the certificate.
    chosen_by : Traces, Instance, str, or iterable of these
        What was used to choose the plan; none of its runs may be in ``runs``. ``()`` for nothing.
    plan, metric, diverged
        As in `depl.models.estimation.certificate.held_out`.

    Returns
    -------
    Certificate

    Raises
    ------
    InvalidInputError
        If a run is not allowed to judge the plan, a file cannot be read, or a number is impossible.

    Examples
    --------
    >>> import numpy as np
    >>> from depl.models.traces.table import Traces
    >>> rng, epochs = np.random.default_rng(0), 9
    >>> seeds = np.repeat([f"seed-{number}" for number in range(80)], epochs)
    >>> losses = np.tile(np.arange(epochs, 0.0, -1.0), 80) + rng.normal(0.0, 0.2, 80 * epochs)
    >>> column = np.tile(np.arange(epochs), 80)
    >>> runs = Traces(seeds, column, np.full(720, "full"), np.full(720, "edge"), losses)
    >>> schedule = (("full", "edge"),) * (epochs - 1)
    >>> certify(runs, 2.0, 0.95, chosen_by=(), plan=schedule).verdict.value
    'certified'
    """
    judges = named_traces(runs) if isinstance(runs, str) else runs
    known = (chosen_by,) if isinstance(chosen_by, Traces | Instance | str) else tuple(chosen_by)
    chosen = tuple(named_choice(item) if isinstance(item, str) else item for item in known)
    return certificate(held_out(judges, chosen, plan, metric, diverged), target, level, confidence)


def named_choice(name: str) -> Traces | Instance:
    """The instance of a ``.json`` file, or else the traces of that name."""
    return load(name) if name.endswith(".json") else named_traces(name)
