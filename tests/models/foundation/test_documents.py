"""The gate that every data structure passes: types, bounds, finiteness, and errors that say where."""

import json
import math
import os
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from depl.models.foundation.documents import (
    Checked,
    Name,
    decode_document,
    document,
    encode_document,
    read_bytes,
    read_text,
    require_single_keys,
    write_text,
)
from depl.models.foundation.errors import InvalidInputError
from tests.problems import refusal


class Leg(Checked, frozen=True, kw_only=True):
    length: Annotated[float, Meta(gt=0)]
    slope: float = 0.0

    def validate(self):
        if self.slope > self.length:
            raise InvalidInputError("too steep; lengthen the leg", ".slope")


class Route(Checked, frozen=True, kw_only=True):
    format: Literal["test-route"] = "test-route"
    version: Literal[3] = 3
    name: Name
    legs: tuple[Leg, ...] = ()
    heights: tuple[float, ...] = ()


class Measured(Checked, frozen=True, kw_only=True):
    largest_number: ClassVar[float] = math.inf
    value: float


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "Expected `float` > 0.0, not nan"),
        (math.inf, "must be a finite number, not inf; leave the field out for 'none'"),
        (-1, "Expected `float` > 0.0, not -1"),
        ("1", "Expected `float`, got `str`; write 1, without quotation marks"),
        ("1.5 GB", "Expected `float`, got `str`; write 1.5, without quotation marks and unit"),
        ("95 %", "Expected `float`, got `str`; write 0.95, without quotation marks and unit"),
        (True, "Expected `float`, got `bool`"),
        (1e101, "1e+101 is beyond what double precision can calculate with; rescale"),
        (9e-101, "9e-101 is beyond what double precision can calculate with; rescale"),
        (10**400, "Number out of range"),
    ],
)
def test_a_field_that_does_not_fit_is_refused_with_its_place(value, message):
    error = refusal(Leg, length=value)
    assert (error.path, error.message) == (".length", message)


def test_numbers_in_lists_must_be_finite_too_and_results_may_be_of_any_size_but_that():
    for value in (math.nan, math.inf, -math.inf):
        error = refusal(Route, name="a", heights=(0.0, 1.0, value))
        assert (error.path, "must be a finite number" in error.message) == (".heights[2]", True)
    assert [Measured(value=value).value for value in (1e-308, 1e308)] == [1e-308, 1e308]
    assert refusal(Measured, value=math.inf).path == ".value"


def test_integers_become_floats_and_zeros_lose_their_sign():
    route = Route(name="a", legs=[{"length": 2}], heights=[-0.0, 3])
    assert type(route.legs[0].length) is float
    assert isinstance(route.heights, tuple)
    assert math.copysign(1, route.heights[0]) == 1
    assert math.copysign(1, Leg(length=1, slope=-0.0).slope) == 1


@pytest.mark.parametrize(
    "length", [np.float64(2), np.float32(2), np.int64(2), np.uint8(2), np.array(2), np.array(2.0)]
)
def test_scalars_of_numpy_count_as_the_numbers_that_they_are(length):
    leg = Leg(length=length, slope=np.float64(0.5))
    assert leg == Leg(length=2.0, slope=0.5)
    assert type(leg.length) is float
    assert msgspec.json.encode(leg) == b'{"length":2.0,"slope":0.5}'


def test_arrays_and_texts_of_numpy_do_too_and_are_checked_like_all_others():
    route = Route(name=np.str_("a"), heights=np.array([1.0, 2.0]))
    assert route == Route(name="a", heights=(1.0, 2.0))
    assert Route(name="a", heights=(np.float64(1), 2)) == route
    assert type(route.name) is str
    for wrong, message in ((np.float64("nan"), "Expected `float` > 0.0"), (np.True_, "got `bool`")):
        assert message in str(refusal(Leg, length=wrong))
    assert str(refusal(lambda: Route(name="a", heights=np.array([1, math.inf])))).startswith(
        ".heights[1]: must be"
    )


def test_half_a_character_is_refused_as_no_file_could_hold_it():
    assert str(refusal(Route, name="a\udcff")) == (
        ".name: 'a\\udcff' holds half a character (a lone surrogate)"
    )


def test_a_document_opens_with_its_format_and_version_and_ends_with_a_line_break():
    text = encode_document(Route(name="a"))
    assert list(json.loads(text)) == ["format", "version", "name"]
    assert text.startswith('{\n  "format": "test-route",\n  "version": 3,')
    assert text.endswith("}\n")
    assert document(Route(name="a")) == {"format": "test-route", "version": 3, "name": "a"}


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ('{"format": "test-route"', "$", "not a JSON document: Input data was truncated"),
        ('{"format": "test-route", "version": NaN}', "$", "not a JSON document: JSON is malformed"),
        ('{"format": "test-route",\n "naïve": [1, NaN],\n "version": 3}', "$", "(line 2, column 15: 'NaN')"),
        ("\ud800", "$", "not a JSON document: 'utf-8' codec can't encode"),
        ('{"version": 3, "name": "a"}', "$.format", 'is missing; write "test-route"'),
        ('{"format": 7, "version": 3, "name": "a"}', "$.format", 'is 7; write "test-route"'),
        ('{"format": "depl-x", "version": 3}', "$.format", "'depl-x' document; a 'test-route' one is needed"),
        ('{"format": "test-route", "version": 4}', "$.version", "version 4 is not known to this depl"),
        (
            '{"format": "test-route", "version": 3, "name": ' + "[" * 10**5,
            "$",
            "nested too deeply to be read",
        ),
        (
            '{"format": "test-route", "version": 3, "nane": "a"}',
            "$.nane",
            "no such field; did you mean 'name'?",
        ),
        ('{"format": "test-route", "version": 3, "name": "a "}', "$.name", "matching regex"),
        ('{"format": "test-route", "version": 3, "name": 5, "legs": [1,}', "$", "not a JSON document"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused_with_its_place(text, path, message):
    error = refusal(decode_document, text, Route)
    assert error.path == path
    assert message in error.message
    assert str(error) == f"{path}: {error.message}"
    assert error.exit_code == 2


def test_what_an_inner_record_finds_wrong_is_placed_within_the_whole_document():
    legs = '[{"length": 1}, {"length": 1, "slope": 2}]'
    text = '{"format": "test-route", "version": 3, "name": "a", "legs": ' + legs + "}"
    error = refusal(decode_document, text, Route)
    assert str(error) == "$.legs[1].slope: too steep; lengthen the leg"
    python = refusal(Route, name="a", legs=[{"length": 1, "slope": 2}])
    assert str(python) == ".legs[0].slope: too steep; lengthen the leg"


def test_all_mistakes_are_told_at_once_each_where_it_is_and_no_consequence():
    legs = [{"length": "7 m"}, {"lenth": -1}, {}, {"length": 1, "slope": 2}, {"length": 1, "slope": 3}, 5]
    error = refusal(decode_document, json.dumps({"nane": "a", "version": 3.5, "legs": legs}), Route)
    assert str(error).splitlines() == [
        '$.format: is missing; write "test-route"',
        "$.version: is 3.5; write 3",
        "$.nane: there is no such field; did you mean 'name'?",
        "$.legs[0].length: Expected `float`, got `str`; write 7, without quotation marks and unit",
        "$.legs[1].lenth: there is no such field; did you mean 'length'?",
        "$.legs[1].lenth: Expected `float` > 0.0, not -1",
        "$.legs[2].length: is missing; give it",
        "$.legs[3].slope: too steep; lengthen the leg (also at $.legs[4].slope)",
        "$.legs[5]: Expected `object`, got `int`; write an object with length",
    ]
    assert [item.path for item in error.mistakes][-3:] == ["$.legs[3].slope", "$.legs[4].slope", "$.legs[5]"]
    many = refusal(Route, name="a", heights=[str(row) for row in range(30)])
    assert (len(many.mistakes), str(many).splitlines()[20:]) == (
        30,
        ["10 more mistakes; correct these first"],
    )


class Table(Checked, frozen=True, kw_only=True):
    format: Literal["table"] = "table"
    version: Literal[1] = 1
    name: str = ""
    numbers: tuple[float, ...] = ()
    legs: tuple[Leg, ...] = ()
    nested: tuple[dict[str, dict[str, int]], ...] = ()


def test_many_numbers_lie_on_one_line_and_each_of_many_flat_objects_on_its_own():
    thirteen = tuple(range(13))
    for table, lines in (
        (Table(numbers=thirteen[:12]), 18),
        (Table(numbers=thirteen), 5),
        (Table(legs=tuple(Leg(length=number + 1) for number in thirteen)), 19),
        (Table(nested=({"a": {"b": 1}},) * 13), 71),
    ):
        text = encode_document(table)
        assert text.count("\n") == lines
        assert decode_document(text, Table) == table


def test_files_are_written_whole_and_read_back(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "first")
    write_text(path, "zweite Fassung: é")
    assert read_text(path) == "zweite Fassung: é"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xe9")
    for name, message in (("none", "No such file"), ("", "directory"), ("latin", "not UTF-8 text")):
        error = refusal(read_text, tmp_path / name)
        assert error.path == str(tmp_path / name)
        assert message in error.message


def test_a_file_is_read_whole_or_refused_as_too_large(tmp_path):
    (tmp_path / "six").write_bytes(b"abcdef")
    assert read_bytes(tmp_path / "six", 6) == b"abcdef"
    assert "larger than 0 MiB, the most that is read" in refusal(read_bytes, tmp_path / "six", 5).message


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "folder").mkdir()
    error = refusal(write_text, tmp_path / "folder", "text")
    assert error.path == str(tmp_path / "folder")
    assert "cannot be written" in error.message
    assert os.listdir(tmp_path) == ["folder"]
    assert "cannot be written" in refusal(write_text, tmp_path / "none" / "a", "text").message


# --- keys that an object has twice ---------------------------------------------------------------------

# What JSON and its escapes are made of, and letters of every width; to list all letters takes a second.
TEXT = st.text('"\\/{}[]:,ab u0\n\x00\x7f\xe9\u2028\ud800\ufffd\U0001f600')
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1, "a": 1}', "$.a"),
        ('{"a": 1, "\\u0061": 2}', "$.a"),
        ('{"b": {"c": [0, {"d": 1, "e": 2, "d": 3}]}}', "$.b.c[1].d"),
        ('[{}, [{"two words": 1, "two words": 2}]]', '$[1][0]["two words"]'),
        ('{"targets": {"9": 1, "9": 2}}', '$.targets["9"]'),
        ('{"": {"": 1, "": 1}}', '$[""][""]'),
        ('{"first": {"x": 1, "x": 2}, "second": {"y": 1, "y": 2}}', "$.first.x"),
    ],
)
def test_a_key_that_occurs_twice_is_refused_with_its_place(text, place):
    error = refusal(require_single_keys, text)
    assert (error.path, error.message) == (place, "is given twice in this object; keep one")


@given(JSON)
@settings(max_examples=15)
def test_whatever_python_writes_has_single_keys(value):
    require_single_keys(json.dumps(value))


def test_what_is_nested_too_deeply_is_refused():
    assert "nested too deeply" in refusal(require_single_keys, "[" * 100_000 + "]" * 100_000).message
