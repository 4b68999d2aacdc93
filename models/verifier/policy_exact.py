"""P(reached) of a policy's chain in exact fractions, backwards from where its runs end.

Asked for where a certificate claims a fraction, as a promise that is kept with equality is lost in rounding.
Indices move as in `depl.models.verifier.policy_chain`; probabilities are the decimals of the instance.
"""

import math
from fractions import Fraction

from depl.models.problem.policy import STOP, Policy
from depl.models.verifier.laws import FloatArray
from depl.models.verifier.policy_chain import actions_of
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Walk

_MOST_MOVES = 400_000
"""Most moves that are followed: set by hand, some seconds."""

_MOST_EPOCHS = 200
"""Most epochs that are followed, one inside the other."""


def exact_reached(policy: Policy, walk: Walk, losses: FloatArray) -> Fraction | None:
    """P(reached) from equally likely l(0) on the scale of the law; None where it is not worked out."""
    if policy.maximum_epochs > _MOST_EPOCHS:
        return None
    chain, grid = _Chain(policy, walk), policy.grid
    try:
        ends = [
            chain.reached(policy.start, max(0, math.ceil((loss - grid.origin) / grid.step - EDGE)))
            for loss in losses.tolist()
        ]
    except _TooMuchError:
        return None
    return sum(ends, Fraction(0)) / len(ends)


class _TooMuchError(Exception):
    """A law with a density, or too many moves."""


class _Chain:
    """What is known so far, by node and index."""

    def __init__(self, policy: Policy, walk: Walk) -> None:
        self.policy, self.walk, self.grid = policy, walk, policy.grid
        self.known: dict[tuple[int, int], Fraction] = {}
        self.actions = [actions_of(node) for node in policy.nodes]
        self.moves = 0

    def reached(self, number: int, index: int) -> Fraction:
        """P(reached) from a node and an index; as deep as there are epochs."""
        if index >= self.grid.cells:
            return Fraction(0)
        if (number, index) not in self.known:
            node, action = self.policy.nodes[number], int(self.actions[number][index])
            if action == STOP:
                found = Fraction(int(node.may_stop and index <= self.grid.target))
            else:
                found = self._after(number, action, index)
            self.known[number, index] = found
        return self.known[number, index]

    def _after(self, number: int, action: int, index: int) -> Fraction:
        training, grid = self.policy.nodes[number].trainings[action], self.grid
        atoms = self.walk.steps[number, action].noise.exact_atoms()
        self.moves += 0 if atoms is None else len(atoms)
        if atoms is None or self.moves > _MOST_MOVES:
            raise _TooMuchError
        mean = training.shift + training.retention * (grid.origin + index * grid.step)
        image = math.ceil((mean - grid.origin) / grid.step - EDGE)
        return sum(
            (
                share * self.reached(training.following, max(0, image + math.ceil(value / grid.step - EDGE)))
                for value, share in atoms
            ),
            Fraction(0),
        )
