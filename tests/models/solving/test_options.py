"""Options of methods: what is declared, what texts stand for, and what is refused."""

import doctest

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.solving import options
from depl.models.solving.methods import Limits, find, register, registered
from depl.models.solving.options import Option, read_options
from depl.models.solving.solve import solve


def test_the_example_holds():
    assert doctest.testmod(options).failed == 0


@pytest.mark.parametrize(
    ("values", "text", "read"),
    [
        ((int,), "8", 8),
        ((float,), "1e-3", 0.001),
        ((bool,), "True", True),
        ((int, "auto"), "auto", "auto"),
        (("5", int), "5", "5"),
        ((), "8", 8),
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
    with pytest.raises(InvalidInputError) as caught:
        Option("key", values).read(text)
    assert message in str(caught.value)


def test_the_first_unknown_option_is_named():
    with pytest.raises(InvalidInputError, match="method 'm' takes no option 'widht'; did you mean 'width'"):
        read_options("m", [Option("width")], {"widht": "8"})


@pytest.mark.usefixtures("own_methods")
def test_options_given_by_their_names_alone_still_reach_a_method(tiny, tiny_optimum):
    seen = {}

    def mine(instance: Instance, limits: Limits):
        seen.update(limits.options)
        return tiny_optimum

    register("mine", mine, options=("width", Option("depth", (int,))))
    solve(tiny, "mine", options=read_options("mine", find("mine").options, {"width": "8", "depth": "2"}))
    assert seen == {"width": 8, "depth": 2}


def test_every_shipped_option_says_what_it_does_and_what_it_may_be():
    assert [
        (method.name, option.name)
        for method in registered()
        if method.run.__module__.startswith("depl.")  # not those of other tests
        for option in method.options
        if not (option.values and option.summary)
    ] == []
