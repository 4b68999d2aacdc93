"""Every method looks the same in all figures, and no two of them look alike."""

import depl
from depl.benchmarks.figures.lines import MethodLine
from depl.benchmarks.figures.palette import (
    CONFIGURATION_STYLES,
    METHOD_STYLES,
    Style,
    styles_for,
    styles_of,
)
from depl.benchmarks.suites.catalogue import all_suites

MINE = [f"mine-{number}" for number in range(30)]


def test_every_registered_method_has_a_style_of_its_own():
    registered = {method.name for method in depl.methods()}
    assert set(METHOD_STYLES) <= registered
    fixed = [*METHOD_STYLES.values(), *CONFIGURATION_STYLES.values()]
    assert len(set(fixed)) == len(fixed)
    found = styles_of(registered | set(MINE))
    assert len(set(found.values())) == len(registered | set(MINE))


def test_a_style_does_not_depend_on_the_other_methods_of_a_figure():
    together = styles_of([*METHOD_STYLES, *CONFIGURATION_STYLES])
    for name, style in together.items():
        assert styles_of([name]) == {name: style}
        assert styles_of(["other", name, "exact"])[name] == style


def test_names_of_users_have_styles_that_repeat_and_do_not_collide():
    assert styles_of(["mine", "yours"]) == styles_of(["yours", "mine"])
    assert styles_of(["mine"])["mine"] == styles_of(["exact", "mine"])["mine"]
    assert not set(styles_of(MINE).values()) & {*METHOD_STYLES.values(), *CONFIGURATION_STYLES.values()}
    assert list(styles_of(reversed(MINE))) == MINE[::-1]
    assert styles_of(MINE) == styles_of(reversed(MINE))


def test_more_names_than_styles_are_no_error():
    names = [str(number) for number in range(200)]
    assert set(styles_of(names)) == set(names)


def test_configurations_of_a_shipped_suite_have_hues_of_their_own():
    for suite in all_suites().values():
        labels = [item.label for item in suite.configurations]
        if not any(label.startswith("scenario-search-") for label in labels):  # one curve, of the method
            hues = [style.colour for style in styles_of(labels).values()]
            assert len(set(hues)) == len(hues), suite.name


def test_a_curve_has_its_own_style_or_that_of_its_label():
    own = Style("#000000", "o", "-")
    given = [MethodLine("exact", (), ()), MethodLine("a title: depl", (), (), own)]
    assert styles_for(given) == [METHOD_STYLES["exact"], own]
