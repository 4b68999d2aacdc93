"""A commented instance to start from: every field with its meaning, its unit and its symbol in the paper.

JSON has no comments, so the reader of instance files (`depl.instances.library.parse`) skips lines that
begin with ``//``. Three kinds of them occur in the templates:

- ``// text`` explains the line below it;
- ``// "field": value,`` is an optional field, valid once the slashes are removed;
- ``// or: value``, on one line or several, may replace the value of the field above it.
"""

from importlib import resources

FOLDER = resources.files("depl.instances") / "data" / "templates"


def template() -> str:
    """The commented instance as text; it loads as it is.

    Examples
    --------
    >>> from depl.instances.library import parse
    >>> parse(template()).name
    'my-training'
    """
    return (FOLDER / "instance.jsonc").read_text(encoding="utf-8")
