"""The backward pass over layers against all sequences, in floats and in whole numbers."""

import itertools

import numpy as np
import pytest

from depl.heuristics.paths.completions import least_completions


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("start", [0, 1])
def test_completions_are_the_least_of_all_sequences(whole: bool, start: int) -> None:
    rng = np.random.default_rng(4)
    negative = 0
    for _ in range(60):
        epochs, count = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        shape = (epochs, count + start, count)
        steps = rng.integers(-9, 9, shape) if whole else rng.normal(size=shape)
        allowed = rng.random(shape) < 0.7
        found = least_completions(steps, allowed)
        assert found.dtype == steps.dtype
        for k, m in np.ndindex(epochs, count):
            sums = [0]
            for length in range(1, epochs - k):
                for rest in itertools.product(range(count), repeat=length):
                    pairs = list(enumerate(itertools.pairwise((m, *rest)), k + 1))
                    if all(allowed[layer, before, after] for layer, (before, after) in pairs):
                        sums.append(sum(steps[layer, before, after] for layer, (before, after) in pairs))
            assert found[k, m] == pytest.approx(min(sums), abs=1e-12)
            negative += found[k, m] < 0
    assert negative > 20


def test_what_may_never_be_is_infinite_without_harm() -> None:
    steps = np.full((3, 2, 2), -1.0)
    steps[:, 0, 1] = np.inf
    for allowed in (None, np.isfinite(steps)):
        assert least_completions(steps, allowed).tolist() == [[-2.0, -2.0], [-1.0, -1.0], [0.0, 0.0]]
