"""Sphinx configuration: Sphinx with furo, sphinx-copybutton and sphinx-gallery; no network to be read."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

# autodoc imports depl from this checkout, through the links in depl/; and the reference is written beside us.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

project = "depl"
author = "The depl authors"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "lessons"]
html_theme = "furo"
html_title = "depl"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5a94", "color-brand-content": "#1f5a94"},
    "dark_css_variables": {"color-brand-primary": "#86b9ec", "color-brand-content": "#86b9ec"},
}
html_static_path = ["_static"]
html_css_files = ["depl.css", "lessons.css"]
html_math_renderer = "mathml"
html_show_copyright = False
# What is copied is what is typed: neither prompts nor output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

MOVED = {"howto/traces": "tutorials/wandb"}

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
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

_FUNCTION = re.compile(r"(</\w+>\s*)?(<mi>[a-z]{2,}</mi>)\s*<mo>&ApplyFunction;</mo>(\s*<m[^o])?")
_BAR = '<mo stretchy="false">|</mo>'
_DECIMAL = re.compile(r"<mo>\.</mo>\s*(<mn>)")
_DEFINED = re.compile(r"<mo>∶</mo>\s*<mo>=</mo>")


def _mathml(self: Any, node: nodes.Element) -> None:
    self.body.append(_formula(node, as_block=False))
    raise nodes.SkipNode


def _mathml_block(self: Any, node: nodes.Element) -> None:
    formula = _formula(node, as_block=True)
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    self.body.append(self.starttag(node, "div", CLASS="math") + number + formula + "</div>")
    raise nodes.SkipNode


def _formula(node: nodes.Element, as_block: bool) -> str:
    """MathML with what docutils gets wrong: space around ln and in bars, :=, decimal points."""
    formula = _DECIMAL.sub(r"\1.", tex2mathml(node.astext(), as_block=as_block))
    formula = _DEFINED.sub("<mo>≔</mo>", formula)
    formula = formula.replace(_BAR, _BAR.replace(">", ' lspace="0" rspace="0">', 1))
    return _FUNCTION.sub(_spaced, formula)


def _spaced(found: re.Match[str]) -> str:
    thin = '<mspace width="0.167em"></mspace>'
    before, name, after = found.groups()
    left = before + (thin if "</mo>" not in before else "") if before else ""
    return left + name + (thin + after if after else "<mo>&ApplyFunction;</mo>")


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


def setup(app: Sphinx) -> None:
    """Render formulas as MathML, and read docstrings before napoleon does."""
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml_block, None))
    app.connect("builder-inited", _reference)
    app.connect("build-finished", _moved)
    app.connect("autodoc-skip-member", _skip_fields_of_named_tuples)
    app.connect("autodoc-process-docstring", _plain_text, priority=100)
