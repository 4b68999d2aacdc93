"""The problems on which policies are measured, the laws for them, and the runs that judge.

Laws are fitted to 640 seeds of a family, of each of which one switch epoch was trained; 120 other seeds, of
which all 16 switch epochs were trained, judge.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depl.fitting import fit
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_counterfactuals, recorded_traces
from depl.models.policy.process import process
from depl.models.problem.instance import Instance
from depl.models.traces.counterfactuals import Counterfactuals

TARGETS = {"digits-alexnet-slow": (0.75, 0.9, 1.0, 1.2), "digits-mobilenet": (0.55, 0.6, 0.65, 0.7)}
"""l_max: reached by the clairvoyant after about half to two thirds of the epochs. Those of digits-mobilenet
were chosen from first passages of the judging seeds, before any policy was planned; nothing is fitted."""
TIGHT = {"digits-alexnet-slow": (1.0, 1.2), "digits-mobilenet": (0.7,)}
"""l_max that are also asked for with `TIGHT_EPOCHS`."""
EPOCHS, TIGHT_EPOCHS = 47, 30
LEVELS = (0.9, 0.95)


@dataclass(frozen=True)
class Problem:
    """A target, and the epochs and the probability omega with which it is to be reached."""

    family: str
    maximum_loss: float
    maximum_epochs: int
    omega: float

    def of(self, instance: Instance) -> Instance:
        """An instance with this target."""
        return instance.replace(
            maximum_loss=self.maximum_loss, maximum_epochs=self.maximum_epochs, quantile_level=self.omega
        )


def problems(family: str) -> Iterator[Problem]:
    """The problems of a family, the smaller omega first."""
    for targets, epochs in ((TARGETS, EPOCHS), (TIGHT, TIGHT_EPOCHS)):
        for target in targets[family]:
            for level in LEVELS:
                yield Problem(family, target, epochs, level)


class Family:
    """What is known of a family, fitted to one of ``every`` runs when it is first asked for."""

    def __init__(self, name: str, every: int = 1) -> None:
        runs = recorded_traces(f"{name}-fitting")
        self.name, self.setup = name, load_setup("closed-loop")
        self.runs = runs if every == 1 else runs.select(np.arange(0, len(runs.runs), every))

    @cached_property
    def whole(self) -> Instance:
        """The default law: only plans that runs went through count, each by its own runs."""
        return fit(self.runs, self.setup)

    @cached_property
    def per_run(self) -> Instance:
        """Residuals stay together per run; policies are counted over combinations of runs."""
        return fit(self.runs, self.setup, care=None)

    @cached_property
    def independent(self) -> Instance:
        """Residuals are independent of each other; policies are certified on the ledger."""
        return fit(self.runs, self.setup, care=None, residuals="independent")

    @cached_property
    def branches(self) -> Counterfactuals:
        """Of the judging seeds."""
        return recorded_counterfactuals(str(self.runs.provenance["family"]))

    @cached_property
    def prices(self) -> tuple[float, float]:
        """Of an epoch in either stage [cost]."""
        nodes = process(self.independent, switch_epochs=self.branches.switch_epochs).nodes
        found = {(item.model, item.cluster): item.price for node in nodes for item in node.trainings}
        first, second = self.branches.stages
        return found[first], found[second]
