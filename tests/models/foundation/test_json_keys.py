"""Keys that an object has twice: found wherever they are, with their place, and nothing else refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.json_keys import require_single_keys

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
    with pytest.raises(InvalidInputError, match="is given twice in this object; keep one") as caught:
        require_single_keys(text)
    assert caught.value.path == place


@given(JSON)
def test_whatever_python_writes_has_single_keys(value):
    require_single_keys(json.dumps(value))


def test_what_is_nested_too_deeply_is_refused():
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        require_single_keys("[" * 100_000 + "]" * 100_000)
