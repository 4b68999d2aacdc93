"""What fresh runs prove of a plan, for its page: counted anew from what ``depl certify --json`` answered."""

from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from depl.models.estimation.certificate import Certificate, certificate
from depl.models.estimation.fit import schedule_label
from depl.models.foundation.documents import decode
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted, number
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.showing.parts import promised


class _Answer(msgspec.Struct):  # what follows from these counts is not believed
    target: float
    level: float
    confidence: float
    runs: Annotated[int, Meta(ge=1, le=10_000_000)]
    exceedances: Annotated[int, Meta(ge=0)]
    schedule: str


def read_certificate(text: str, instance: Instance, plan: Plan) -> Certificate:
    """The certificate of these counts.

    Raises
    ------
    InvalidInputError
        If it is none of ``depl certify --json``, or of another plan or promise.
    """
    try:
        said, target = decode(text, _Answer), instance.target
    except InvalidInputError as error:
        message = f"is not what 'depl certify ... --json' says on standard output ({error.message})"
        raise InvalidInputError(message, error.path) from error
    wanted = target.maximum_loss, target.quantile_level, schedule_label(plan.schedule)
    for name, own in zip(("target", "level", "schedule"), wanted, strict=True):
        if getattr(said, name) != own:
            message = f"is {getattr(said, name)!r:.200}, but this page is on {own!r:.200}"
            raise InvalidInputError(f"{message}: certify the plan for what the instance asks", f"$.{name}")
    if said.exceedances > said.runs:
        raise InvalidInputError(f"is more than all {counted(said.runs, 'run')}", "$.exceedances")
    losses = np.where(np.arange(said.runs) < said.exceedances, np.inf, said.target)
    return certificate(losses, said.target, said.level, said.confidence)


def fresh_runs(found: Certificate) -> str:
    """What the runs prove, for whoever pays."""
    runs, kept = counted(found.runs, "fresh run"), promised(found.greatest_violation, 4).told
    text = (
        f"Counted, without any law: of {runs} of this plan, {found.exceedances} ended above the loss of "
        f"{number(found.target)}. With confidence {number(found.confidence)}, the plan keeps it with "
        f"probability {kept}; asked is {number(found.level)}: "
    )
    return text + ("certified." if found.certified else f"NOT certified ({found.verdict.value}).")
