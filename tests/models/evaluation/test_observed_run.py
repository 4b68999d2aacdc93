"""The rest of a run under way under a traced law: states by hand, and those that no run can be in.

Against every combination of what may still be drawn: `test_traced_loss`, `test_traced_sampling`.
"""

import msgspec
import pytest

from depl.models.evaluation.traced_loss import require_supported
from depl.models.foundation.documents import decode_document, encode_document
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import Known, following, positions
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import ObservedRun, Stage
from depl.models.solving.solve import solve
from depl.models.verifier.traces import traced_loss
from tests.cases.memory_cases import FAR, FULL
from tests.cases.observed_run_cases import rest_of
from tests.cases.traced_law_cases import halves


def test_a_stage_under_way_goes_on_at_its_age_and_a_law_gone_on_with_twice_is_gone_on_with_once():
    full, far = positions((FULL, FULL, FULL)), positions((FULL, FULL, FAR))
    assert following(full[1], FULL) == full[2]
    assert (Known(2, 1.0).first_age(full[2]), Known(2, 1.0).first_age(far[2])) == (3, 1)
    law = halves(8)
    twice = law.after((FULL,), 2.2).after((FAR,), 1.2)
    assert twice == law.after((FULL, FAR), 1.2)
    assert [stage.model for stage in twice.observed.stages] == ["full", "cut"]
    assert law.after((FULL,), 1.0).after((FULL,), 0.5).observed.stages[0].epochs == 2


def test_a_run_under_way_is_written_and_read():
    instance = rest_of(halves(8).after((FULL,), 2.5))
    again = decode_document(encode_document(instance), Instance)
    assert (again, again.fingerprint) == (instance, instance.fingerprint)
    assert instance.fingerprint != rest_of(halves(8).after((FULL,), 2.4)).fingerprint


STAGE = Stage(model="full", cluster="edge", epochs=1)
AFTER_ONE = halves(8).after((FULL,), 2.5)
ELSEWHERE = ObservedRun(stages=(msgspec.structs.replace(STAGE, model="none"),), loss=2.5)
UNKNOWN = msgspec.structs.replace(AFTER_ONE, observed=ELSEWHERE)


@pytest.mark.parametrize(
    ("ask", "path", "said"),
    [
        (lambda: rest_of(AFTER_ONE, initial_loss=2.0), ".target.initial_loss", "stands at 2.5"),
        (lambda: rest_of(AFTER_ONE, initial_model="cut"), ".target.initial_model", "stands at 'full'"),
        (lambda: rest_of(AFTER_ONE, initial_model=None), ".target.initial_model", "make the two equal"),
        (
            lambda: rest_of(UNKNOWN, initial_model=None),
            ".traced_law.observed.stages[0].model",
            "'none' is not defined",
        ),
        (lambda: ObservedRun(stages=(STAGE, STAGE), loss=1.0), None, "join the two"),
        (lambda: halves(8, scale="log").after((FULL,), 0.0), ".observed.loss", "only positive losses"),
    ],
)
def test_a_state_that_no_run_can_be_in_is_refused(ask, path, said):
    with pytest.raises(InvalidInputError, match=said) as caught:
        ask()
    assert path in (None, caught.value.path)


def test_a_confidence_says_nothing_of_a_rest():
    law = halves(24, unseen_loss=4.0, confidence=0.9).after((FULL,), 2.5)
    with pytest.raises(InvalidInputError, match="fit without a confidence"):
        require_supported(law, (FAR,))
    assert traced_loss(law, (FAR,)).outside is not None
    assert solve(rest_of(law, maximum_loss=2.5), "enumerate").cost == 0  # to stop needs no promise
