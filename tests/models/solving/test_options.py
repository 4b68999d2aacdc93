"""Options of methods: what is declared, what texts stand for, and what is refused."""

import math
import re
from enum import Enum

import numpy as np
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.methods import find, register
from depl.models.solving.options import Option, read_options
from depl.models.solving.solve import solve


@pytest.mark.parametrize(
    ("values", "text", "read"),
    [
        ((int,), "8", 8),
        ((float,), "1e-3", 0.001),
        ((bool,), "True", True),
        ((int, "auto"), "auto", "auto"),
        ((), "0.5", 0.5),
        ((), "false", False),
        ((), "deep", "deep"),
    ],
)
def test_a_text_is_read_as_what_is_declared(values, text, read):
    found = Option("key", values).read(text)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("values", "text", "message"),
    [
        ((int,), "8.5", "key: must be a whole number, not '8.5'"),
        ((bool,), "1", "must be true or false, not '1'"),
        (("wide", "deep"), "wid", "must be wide or deep, not 'wid'; did you mean 'wide'?"),
        ((int, "auto"), "atuo", "must be auto or a whole number, not 'atuo'; did you mean 'auto'?"),
    ],
)
def test_another_text_is_refused(values, text, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        Option("key", values).read(text)


@pytest.mark.usefixtures("own_methods")
def test_options_given_by_their_names_alone_still_reach_a_method(tiny, tiny_optimum):
    seen = {}

    def mine(instance, limits):
        seen.update(limits.options)
        return tiny_optimum

    register("mine", mine, options=("width", Option("depth", (int,))))
    solve(tiny, "mine", options=read_options("mine", find("mine").options, {"width": "8", "depth": "2"}))
    assert seen == {"width": 8, "depth": 2}


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@pytest.mark.parametrize(
    ("option", "given", "value"),
    [
        (Option("key", (int,), least=1), {}, 7),
        (Option("key", (int,), least=1), {"key": 1}, 1),
        (Option("key", (float,), least=0), {"key": np.float64(2)}, 2.0),
        (Option("key", (int, "auto")), {"key": "auto"}, "auto"),
        (Option("key", ("small", "large")), {"key": "large"}, Size.LARGE),
    ],
)
def test_what_a_method_was_given_is_read_as_what_is_declared(option, given, value):
    member = Size if isinstance(value, Size) else None
    assert option.among(given, 7, member) == value
    assert type(option.among(given, 7, member)) is type(value)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (Option("key", (int,), least=1), 0, "key: must be a whole number from 1 on, not 0"),
        (Option("key", (int,), least=1), True, "must be a whole number from 1 on, not True"),
        (Option("key", (float,), least=0), 0, "must be a number above 0, not 0"),
        (Option("key", (float,)), math.nan, "must be a number, not nan"),
        (Option("key", ("small", "large")), "medium", "must be small or large, not 'medium'"),
    ],
)
def test_what_a_method_was_given_is_refused_with_what_is_allowed(option, value, message):
    with pytest.raises(InvalidInputError, match=message):
        option.among({"key": value}, None)
