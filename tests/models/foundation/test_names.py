"""One rule for names that are not known: what is near, in which order, and when all are listed."""

import doctest
import string

import numpy as np

from depl.benchmarks.measure.catalogue import all_suites
from depl.instances.shipped import full_names
from depl.models.foundation import names
from depl.models.foundation.names import nearest
from depl.models.solving.methods import registered


def test_the_examples_hold():
    result = doctest.testmod(names)
    assert (result.failed, result.attempted >= 5) == (0, True)


def damaged(name, rng):
    """The name with one letter left out, doubled, changed or swapped with the next one."""
    letters = [index for index, letter in enumerate(name) if letter.isalpha()]
    at = letters[rng.integers(len(letters))]
    other = string.ascii_lowercase[rng.integers(26)]
    kinds = (name[:at] + name[at + 1 :], name[:at] + name[at] + name[at:], name[:at] + other + name[at + 1 :])
    following = name[at + 1 : at + 2]
    if following.isalpha():
        kinds += (name[:at] + following + name[at] + name[at + 2 :],)
    return kinds[rng.integers(len(kinds))]


def test_a_slip_of_the_pen_in_any_name_that_is_shipped_suggests_it():
    rng = np.random.default_rng(21)
    for known in (full_names(), [method.name for method in registered()], list(all_suites())):
        for name in known:
            for _ in range(3):
                written = damaged(name, rng)
                assert written in known or name in nearest(written, known), (written, name)
