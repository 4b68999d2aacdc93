"""Sphinx configuration: Sphinx with furo, sphinx-copybutton and sphinx-gallery; no network to be read."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain

# autodoc imports depl from this checkout, through the links in depl/; and the reference is written beside us.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from depl.lessons.export import mathml

project = "depl"
author = "The depl developers"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
# The texts of lessons become pages in built_lessons; the kits beside them are pages as they stand.
exclude_patterns = ["_build", "lessons/*.rst", "lessons/*.py"]
html_theme = "furo"
html_title = "depl"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5a94", "color-brand-content": "#1f5a94"},
    "dark_css_variables": {"color-brand-primary": "#86b9ec", "color-brand-content": "#86b9ec"},
}
html_static_path = ["_static"]
html_css_files = ["depl.css", "lessons.css"]
html_js_files = ["cards.js"]
html_math_renderer = "mathml"
html_show_copyright = False
# What is copied is what is typed: neither prompts nor output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

MOVED = {
    "howto/traces": "tutorials/logs",
    "tutorials/own_law": "howto/add_law",
    "tutorials/own_row": "programs",
    "tutorials/wandb": "tutorials/logs",
}

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = [
    "flwr",
    "keras",
    "lightning",
    "pytorch_lightning",
]  # the adapters are documented without them
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False
napoleon_use_rtype = False

# Every lesson is run, and its text, output and figures become a page; a lesson that fails stops the build.
sphinx_gallery_conf = {
    "examples_dirs": "lessons",
    "gallery_dirs": "built_lessons",
    "filename_pattern": r"/\d_",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),
    "run_stale_examples": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
}


class _PythonDomain(PythonDomain):
    """Of several objects with a short name, a docstring means the one that its module knows, if any."""

    def find_obj(self, env: Any, modname: str | None, classname: str | None, name: str, *rest: Any) -> Any:
        """What the name may mean; on pages, which have no module, all of it."""
        found = super().find_obj(env, modname, classname, name, *rest)
        if len(found) > 1 and modname:
            known = getattr(sys.modules.get(modname), name, None)
            home = f"{getattr(known, '__module__', '')}.{getattr(known, '__qualname__', '')}"
            return [pair for pair in found if pair[0] == home]
        return found


def _mathml(self: Any, node: nodes.Element) -> None:
    self.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _mathml_block(self: Any, node: nodes.Element) -> None:
    formula = mathml(node.astext(), as_block=True)
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    self.body.append(self.starttag(node, "div", CLASS="math") + number + formula + "</div>")
    raise nodes.SkipNode


def _plain_text(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: beside backticks and *words*, signs and indented lines are mathematics."""
    from reference_pages import escaped

    result: list[str] = []
    formula = False
    for line in lines:
        if what == "module" and line.startswith("    "):
            if not formula and result and not result[-1].strip():
                result += ["::", ""]
                formula = True
        elif line.strip():
            formula = False
        result.append(line if formula else escaped(line))
    lines[:] = result


def _skip_fields_of_named_tuples(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """They are explained under Attributes already; their own docstrings say "Alias for field number 0"."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def _moved(app: Sphinx, error: Exception | None) -> None:
    """Pages that went elsewhere leave one line behind, for links from outside."""
    if error is None and app.builder.name == "html":
        for old, new in MOVED.items():
            path = Path(app.outdir) / f"{old}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            address = "../" * old.count("/") + f"{new}.html"
            text = f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">{new}</a>'
            path.write_text(f"<!doctype html><title>moved</title>{text}\n", encoding="utf-8")


def _reference(app: Sphinx) -> None:
    from reference_pages import write_pages

    write_pages()


def _measured(
    role: str, rawtext: str, text: str, lineno: int, inliner: Any, *options: Any
) -> tuple[list[nodes.Node], list[Any]]:
    """A number from a record, or words that a record bears out; one that is stale or unknown is an error."""
    from measured_numbers import objection

    shown = re.split(r"\s+<", text, maxsplit=1)[0]  # a condition may hold the sign again
    words = objection(rawtext)
    errors = [inliner.reporter.error(words, line=lineno)] if words else []
    return [nodes.Text(shown)], errors


class _Nothing(Directive):
    """In place of what a module says: ``make pages`` looks at what is written by hand."""

    optional_arguments, option_spec, has_content = 1, {"no-members": directives.flag}, True

    def run(self) -> list[nodes.Node]:
        """Nothing."""
        return []


def _say_nothing_of_modules(app: Sphinx, config: object) -> None:
    app.add_directive("automodule", _Nothing, override=True)


def setup(app: Sphinx) -> None:
    """Render formulas as MathML, and read docstrings before napoleon does."""
    if app.tags.has("by_hand"):  # autodoc registers its directives after this function
        app.connect("config-inited", _say_nothing_of_modules, priority=1000)
    app.add_domain(_PythonDomain, override=True)
    app.add_role("n", _measured)
    app.add_role("if", _measured)
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml_block, None))
    app.connect("builder-inited", _reference)
    app.connect("build-finished", _moved)
    app.connect("autodoc-skip-member", _skip_fields_of_named_tuples)
    app.connect("autodoc-process-docstring", _plain_text, priority=100)
