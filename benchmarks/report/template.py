"""Pages from templates: texts are escaped, and what would steer a reader's eye is shown as escapes."""

import functools
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from depl.commands.printable import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_ELSEWHERE = re.compile(
    r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>| xmlns[^ >]*|(?<= )xlink:|"
    r' (?:width|height)="[^"]*pt"',
    re.DOTALL,
)
"""Of a drawing: what names other places, what would style the page around it, and its size on paper."""
_IDS = re.compile(r'( id="|href="#|url\(#)')


def rendered(package: str, name: str, /, **content: Any) -> str:
    """A page from the file of a template of a package; a name that its content lacks is an error."""
    return _environment(package).get_template(name).render(content)


def inline_svg(svg: str, label: str, prefix: str) -> "Markup":
    """A drawing of matplotlib as an element of the page; the label says to the blind what it shows.

    The prefix begins the ids of all its parts, so that two drawings do not mix up their parts.
    """
    from markupsafe import Markup, escape

    text = _ELSEWHERE.sub("", svg[svg.index("<svg") :])
    text = text.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    return Markup(_IDS.sub(rf"\g<1>{prefix}-", text))  # matplotlib escapes what it draws


@functools.cache
def _environment(package: str) -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def shipped(name: str) -> str:
        return (resources.files(package) / name).read_text(encoding="utf-8")

    def shown(value: Any) -> Any:
        """Names come from files, and may hold what turns the direction of writing."""
        return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value

    settings = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=shown,
        loader=FunctionLoader(shipped),
    )
    settings.globals["shipped"] = lambda name: Markup(shipped(name))
    return settings
