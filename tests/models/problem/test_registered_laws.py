"""Laws from outside: what `register_law` takes and refuses, and laws that contradict themselves."""

import json
import math
import re
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.problem.instance import Instance, json_schema
from depl.models.problem.laws import Law, Moments, Normal, register_law, registered_laws
from depl.models.problem.laws.registry import require_sound
from depl.models.problem.learning import ConstantImprovement
from tests.cases.documents import put
from tests.cases.gamma_law import BareGammaLaw, GammaLaw
from tests.problems import refusal

pytestmark = pytest.mark.usefixtures("own_laws")

TINY = json.loads(depl.load("tiny").to_json())
NOISE = "models[1].improvement.noise"
GAMMA = {"type": "gamma", "shape": 4.0, "scale": 1.0}
TRUE = stats.norm(2.0, 0.5)


def document(law, place=NOISE):
    return json.dumps(put(TINY, place, law))


def kind(name="Made", tag="", *, frozen=True, returned=TRUE, **members):
    """A class of laws of one distribution, with the members that are given; else its tag is its name."""
    namespace = {"distribution": lambda self: returned, **members}
    return msgspec.defstruct(
        name, [], bases=(Law,), namespace=namespace, tag=tag or name.lower(), frozen=frozen, kw_only=True
    )


# --- registration --------------------------------------------------------------------------------------


def test_a_registered_law_is_read_and_written_and_in_the_schema():
    error = refusal(Instance.from_json, document(GAMMA))
    assert re.search("'gamma'; did you mean 'inverse_gamma'.* registered .*--import FILE", error.message)
    assert error.path == f"$.{NOISE}.type"
    assert "GammaLaw" not in json_schema()["$defs"]
    assert register_law(register_law(GammaLaw)) is GammaLaw  # twice changes nothing
    assert registered_laws() == (GammaLaw,)
    instance = Instance.from_json(document(GAMMA))
    assert instance.models[1].improvement == ConstantImprovement(noise=GammaLaw(shape=4.0, scale=1.0))
    again = Instance.from_json(instance.to_json())
    assert again == instance
    assert again.fingerprint == instance.fingerprint
    kinds = json_schema()["$defs"]
    assert kinds["GammaLaw"]["required"] == ["type", "shape", "scale"]
    for place in ("ConstantImprovement", "Switch"):
        assert '"#/$defs/GammaLaw"' in json.dumps(kinds[place])
    for change, path in (({"scale": -1.0}, ".scale"), ({"shape": 1e200}, ".shape"), ({"rate": 1.0}, ".rate")):
        assert refusal(Instance.from_json, document(GAMMA | change)).path == f"$.{NOISE}{path}"


class Untagged(Law, frozen=True, kw_only=True):
    def distribution(self):
        return TRUE


class Bare(Law, frozen=True, kw_only=True, tag="bare"):
    mean: float


class Own(Normal, frozen=True, kw_only=True, tag="own_normal"):
    pass


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (kind("Other", "gamma"), "'gamma' of Other stands for GammaLaw"),
        (kind("Another", "normal"), "'normal' of Another stands for Normal"),
        (Untagged, "Untagged has no tag"),
        (Bare, "Bare has no method distribution()"),
        (kind("Nowhere", for_improvements=False, for_switches=False), "neither for improvements nor for"),
        (stats.gamma(2.0), "is not a class of laws"),
        (kind("Thawed", frozen=False), "Thawed is not frozen; declare it with frozen=True"),
        (Own, "Own is derived from Normal, whose formulas"),
    ],
    ids=lambda item: getattr(item, "__name__", "instance") if not isinstance(item, str) else "",
)
def test_what_is_no_class_of_laws_is_refused_in_words(made, message):
    register_law(GammaLaw)
    assert message in refusal(register_law, made).message
    assert registered_laws() == (GammaLaw,)


def test_a_class_that_is_not_registered_is_refused():
    error = refusal(depl.load("tiny").replace, other_switches=Own(mean=0.0, variance=1.0))
    assert "Own is neither shipped nor registered" in error.message


def test_a_law_for_improvements_alone_is_none_of_a_switch():
    class Gains(BareGammaLaw, frozen=True, kw_only=True, tag="gains"):
        for_switches: ClassVar[bool] = False

    register_law(Gains)
    gains = {"type": "gains", "shape": 1.0, "scale": 1.0}
    error = refusal(Instance.from_json, document(gains, "other_switches"))
    assert "Invalid value 'gains'" in error.message
    assert error.path == "$.other_switches.type"


# --- laws that contradict themselves -------------------------------------------------------------------


class Told:
    """A normal distribution that says something else in some respects."""

    def __init__(self, **changes):
        self.changes = changes

    def __getattr__(self, name):
        return self.__dict__["changes"].get(name) or getattr(TRUE, name)


def bent(x):
    """Above 1 from the upper quartile on."""
    return np.where(np.asarray(x) > 2.3, 1.5, TRUE.cdf(x))


def falling(x):
    """It falls between 2 and 3, where it should rise by 0.48."""
    return np.where((np.asarray(x) > 2) & (np.asarray(x) < 3), 1 - TRUE.cdf(x), TRUE.cdf(x))


def undefined(x):
    return np.where(np.asarray(x) > 2.4, np.nan, TRUE.cdf(x))


LIES = {
    "cdf is NaN in parts": ({"cdf": undefined, "sf": lambda x: 1 - undefined(x)}, r"its cdf is nan at 2\.5"),
    "cdf above 1": ({"cdf": bent}, r"its cdf is 1\.5 at .* must lie in \[0, 1\]"),
    "cdf falls": ({"cdf": falling, "sf": lambda x: 1 - falling(x)}, "its cdf falls beyond"),
    "sf is that of another law": ({"sf": stats.norm(2.2, 0.5).sf}, "its cdf and its sf add up to"),
    "cdf of one number alone": ({"cdf": lambda _: 0.5}, "its cdf of 146 numbers has the shape"),
    "mean is wrong": (
        {"mean": lambda: 2.1},
        r"its mean 2\.1 .* not those of its cdf, which are about 2 and",
    ),
    "variance is NaN": ({"var": lambda: math.nan}, "its variance is nan"),
    "variance is negative": ({"var": lambda: -0.25}, r"its variance is -0\.25"),
    "variance is one per cent off": ({"var": lambda: 0.2525}, r"are not those .* about 2 and 0\.25;"),
    "supports are crossed": ({"support": lambda: (5.0, 1.0)}, "its support goes from 5 to 1, and must go up"),
    "support is too small": ({"support": lambda: (1.5, 9.0)}, "it has mass outside of it"),
    "quantiles of another law": ({"ppf": stats.norm(2.2, 0.5).ppf}, "its quantiles"),
    "quantiles are NaN": ({"ppf": lambda u: np.full(np.shape(u), np.nan)}, "its quantiles"),
    "draws are NaN": ({"rvs": lambda size, random_state: np.full(size, np.nan)}, r"it draws \[nan"),
    "density is negative": ({"pdf": lambda x: -TRUE.pdf(x)}, "its density at"),
}


class Liar(Law, frozen=True, kw_only=True, tag="liar"):
    """What `LIES` holds under a name."""

    lie: str

    def distribution(self):
        return Told(**LIES[self.lie][0])


@pytest.mark.parametrize("lie", LIES)
def test_a_law_that_contradicts_itself_is_refused_with_its_name_and_place(lie):
    register_law(Liar)
    error = refusal(Instance.from_json, document({"type": "liar", "lie": lie}))
    assert re.search(f"the law 'liar' cannot be used: .*{LIES[lie][1]}.* Liar", error.message)
    assert error.path == f"$.{NOISE}"


def broken(_):
    raise KeyError("scale")


SAID = {
    "another mean": (
        kind(moments=lambda self: Moments(2.1, 0.25)),
        r"its mean is 2\.1, and that of its distribution 2",
    ),
    "other ends": (
        kind(support=lambda self: (0.0, 9.0)),
        "its lower end is 0, and that of its distribution -inf",
    ),
    "another tail": (
        kind(survival=lambda self, x: 0.9 * TRUE.sf(x)),
        "its sf is not that of its distribution at",
    ),
    "normal": (
        kind(returned=stats.logistic(2.0, 0.3), is_normal=True),
        "it says that it is normal, and its cdf is not that of the normal law",
    ),
    "positive": (kind(positive=True), "it says that it is positive, and its support begins at -inf"),
    "no density": (kind(constant=property(lambda self: 2.0)), "it says that it has no density"),
    # E |X - 2|^3 = 2 sqrt(2 / pi) / 8 = 0.1995
    "a third moment": (
        kind(third_moment=lambda self: 0.1),
        r"its third_moment is 0\.1, less than 0\.199",
    ),
    "counts": (kind(returned=stats.poisson(4.0)), r"what distribution\(\) returns has no pdf"),
    "broken": (kind(distribution=broken), "its code fails with KeyError: 'scale'"),
}


@pytest.mark.parametrize("said", SAID)
def test_what_a_class_says_of_its_laws_is_held_against_their_distribution(said):
    made, words = SAID[said]
    register_law(made)
    error = refusal(depl.load("tiny").replace, other_switches=made())
    assert re.search(words, error.message)
    assert error.path == ".other_switches"
    assert re.search(words, refusal(depl.risk.probability, [made()], 2.0).message)


SOUND = [
    TRUE,
    stats.t(1.05),  # infinite variance
    stats.t(2.1),  # of variance 21, half of it beyond 1000
    stats.invgamma(2.2),
    stats.lognorm(5),  # of variance exp(50), of which nearly nothing is within reach
    stats.gamma(0.01),
    stats.beta(0.01, 0.01),  # nearly two atoms
    stats.truncnorm(-1, 0.5, 2, 3),
    stats.truncpareto(1.1, 50),
    stats.rv_histogram(
        (np.array([1, 0, 9, 1e4]), np.array([0, 0.1, 0.2, 0.3, 0.3001])), density=True
    ).freeze(),
]


@pytest.mark.parametrize("number", range(len(SOUND)))
def test_heavy_narrow_cut_and_split_laws_are_no_lies(number):
    require_sound(register_law(kind(returned=SOUND[number]))())
