"""Where the affine law refuses: predecessors, ages and switch epochs, losses that no run had."""

import numpy as np
import pytest

from depl.models.estimation.affine import fit_affine
from depl.models.evaluation.traced_prediction import final_atoms, final_loss
from depl.models.evaluation.traced_support import outside_support
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Known
from depl.models.traces.table import Schedule
from tests.models.estimation.test_affine import CUT, FULL, drawn, schedule


@pytest.fixture(scope="module")
def law() -> AffineLaw:
    return fit_affine(drawn(40, 0.1, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ((CUT,) * 3, "too few runs were at 'cut' on 'far', epoch 1 since epoch 0"),
        ((FULL,) * 6, "too few runs"),
        (schedule(1, epochs=6), "switch epochs outside"),
        ((FULL,) * 3 + (CUT,) * 6, "ages beyond 5 outside"),
        ((FULL,) * 4 + (CUT,) * 5, "ages beyond 4 outside"),
        ((FULL,) * 2 + (("full", "far"),) * 2, "too few runs were at 'full' on 'far' after 'full'"),
    ],
)
def test_outside_the_support_both_predictions_refuse(law: AffineLaw, plan: Schedule, reason: str) -> None:
    assert reason in outside_support(law, plan)[0]
    for predict in (final_loss, final_atoms):
        with pytest.raises(NotCoveredError, match="outside the support of the traces"):
            predict(law, plan)


def test_inside_the_hull_of_ages_and_switch_epochs_plans_that_were_never_run_are_covered(
    law: AffineLaw,
) -> None:
    # starts 2, 3 and 5 with ages up to 6, 5 and 3: at start 4 the hull ends at age 4
    assert outside_support(law, schedule(4)) == ()
    assert outside_support(law, schedule(4, epochs=7)) == ()


def test_a_loss_that_no_run_had_is_outside_the_support(law: AffineLaw) -> None:
    assert outside_support(law, schedule(3), Known(4, 0.5)) == ()
    (reason,) = outside_support(law, schedule(3), Known(4, 50.0))
    assert reason.startswith("a loss of 50 where 0.")
