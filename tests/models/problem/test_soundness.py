"""Laws from outside that contradict themselves are refused with their name; heavy and cut ones are not."""

import json
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Law, Moments, Normal, register_law
from depl.models.problem.laws.soundness import require_sound

pytestmark = pytest.mark.usefixtures("own_laws")

TRUE = stats.norm(2.0, 0.5)


class Told:
    """A normal distribution that says something else in some respects."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["changes"].get(name) or getattr(TRUE, name)


def ending(*_: object, **__: object) -> None:
    raise SystemExit(3)


def bent(x: Any) -> Any:
    """Above 1 from the upper quartile on."""
    return np.where(np.asarray(x) > 2.3, 1.5, TRUE.cdf(x))


def falling(x: Any) -> Any:
    """It falls between 2 and 3, where it should rise by 0.48."""
    return np.where((np.asarray(x) > 2) & (np.asarray(x) < 3), 1 - TRUE.cdf(x), TRUE.cdf(x))


def undefined(x: Any) -> Any:
    return np.where(np.asarray(x) > 2.4, np.nan, TRUE.cdf(x))


LIES: dict[str, tuple[dict[str, Callable[..., Any]], str]] = {
    "cdf is NaN": ({"cdf": lambda x: np.full(np.shape(x), np.nan)}, "its cdf is nan at"),
    "cdf is NaN in parts": ({"cdf": undefined, "sf": lambda x: 1 - undefined(x)}, r"its cdf is nan at 2\.5"),
    "cdf above 1": ({"cdf": bent}, r"its cdf is 1\.5 at .* must lie in \[0, 1\]"),
    "cdf below 0": ({"cdf": lambda x: TRUE.cdf(x) - 0.1}, r"its cdf is -0\.1 at"),
    "cdf falls": ({"cdf": falling, "sf": lambda x: 1 - falling(x)}, "its cdf falls beyond"),
    "cdf is sf": ({"cdf": TRUE.sf, "sf": TRUE.cdf}, "its cdf falls beyond"),
    "sf is NaN": ({"sf": lambda x: np.full(np.shape(x), np.nan)}, "its sf is nan at"),
    "sf is that of another law": ({"sf": stats.norm(2.2, 0.5).sf}, "its cdf and its sf add up to"),
    "cdf of one number alone": ({"cdf": lambda _: 0.5}, "its cdf of 146 numbers has the shape"),
    "mean is NaN": ({"mean": lambda: math.nan}, "its mean is nan"),
    "mean is infinite": ({"mean": lambda: math.inf}, "its mean is inf"),
    "mean is wrong": (
        {"mean": lambda: 2.1},
        r"its mean 2\.1 .* not those of its cdf, which are about 2 and",
    ),
    "mean is no number": ({"mean": lambda: "high"}, "its code fails with ValueError"),
    "variance is NaN": ({"var": lambda: math.nan}, "its variance is nan"),
    "variance is negative": ({"var": lambda: -0.25}, r"its variance is -0\.25"),
    "variance is a tenth": ({"var": lambda: 0.025}, r"variance 0\.025 are not those .* about 2 and 0\.25"),
    "variance is one per cent off": ({"var": lambda: 0.2525}, r"are not those .* about 2 and 0\.25;"),
    "supports are crossed": ({"support": lambda: (5.0, 1.0)}, "its support goes from 5 to 1, and must go up"),
    "support is NaN": ({"support": lambda: (math.nan, 1.0)}, "its support goes from nan to 1"),
    "support is too small": ({"support": lambda: (1.5, 9.0)}, "it has mass outside of it"),
    "support is one number": ({"support": lambda: 3.0}, "its code fails with TypeError"),
    "quantiles of another law": ({"ppf": stats.norm(2.2, 0.5).ppf}, "its quantiles"),
    "quantiles are NaN": ({"ppf": lambda u: np.full(np.shape(u), np.nan)}, "its quantiles"),
    "draws are NaN": ({"rvs": lambda size, random_state: np.full(size, np.nan)}, r"it draws \[nan"),
    "one draw for all": ({"rvs": lambda size, random_state: 2.0}, r"it draws 2\.0"),
    "density is negative": ({"pdf": lambda x: -TRUE.pdf(x)}, "its density at"),
    "cdf ends the program": ({"cdf": ending}, "its code fails with SystemExit: 3"),
    "mean ends the program": ({"mean": ending}, "its code fails with SystemExit: 3"),
}


class Liar(Law, frozen=True, kw_only=True, tag="liar"):
    """What `LIES` holds under a name."""

    lie: str

    def distribution(self) -> Any:
        return Told(**LIES[self.lie][0])


def document(law: dict[str, Any]) -> str:
    content = json.loads(depl.load("tiny").to_json())
    content["models"][1]["improvement"]["noise"] = law
    return json.dumps(content)


@pytest.mark.parametrize("lie", LIES)
def test_a_law_that_contradicts_itself_is_refused_with_its_name_and_place(lie: str) -> None:
    register_law(Liar)
    with pytest.raises(InvalidInputError, match=LIES[lie][1]) as refused:
        depl.Instance.from_json(document({"type": "liar", "lie": lie}))
    assert "the law 'liar' cannot be used" in refused.value.message
    assert "Liar" in refused.value.message
    assert refused.value.path == "$.models[1].improvement.noise"


class Words(Law, frozen=True, kw_only=True, tag="words"):
    """A normal law, as its distribution has it."""

    def distribution(self) -> Any:
        return TRUE


class OtherMean(Words, frozen=True, kw_only=True, tag="other_mean"):
    def moments(self) -> Moments:
        return Moments(2.1, 0.25)


class OtherEnds(Words, frozen=True, kw_only=True, tag="other_ends"):
    def support(self) -> tuple[float, float]:
        return 0.0, 9.0


class OtherTail(Words, frozen=True, kw_only=True, tag="other_tail"):
    def survival(self, x: Any) -> Any:
        return 0.9 * super().survival(x)


class Half(Law, frozen=True, kw_only=True, tag="half"):
    is_normal: ClassVar[bool] = True

    def distribution(self) -> Any:
        return stats.logistic(2.0, 0.3)


class AlwaysPositive(Words, frozen=True, kw_only=True, tag="always_positive"):
    positive: ClassVar[bool] = True


class Constant(Words, frozen=True, kw_only=True, tag="own_constant"):
    @property
    def constant(self) -> float:
        return 2.0


class Light(Words, frozen=True, kw_only=True, tag="light"):
    def third_moment(self) -> float:
        return 0.1


class Counted(Law, frozen=True, kw_only=True, tag="counted"):
    def distribution(self) -> Any:
        return stats.poisson(4.0)


class Broken(Law, frozen=True, kw_only=True, tag="broken"):
    def distribution(self) -> Any:
        raise KeyError("scale")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (OtherMean, r"its mean is 2\.1, and that of its distribution 2"),
        (OtherEnds, "its lower end is 0, and that of its distribution -inf"),
        (OtherTail, "its sf is not that of its distribution at"),
        (Half, "it says that it is normal, and its cdf is not that of the normal law"),
        (AlwaysPositive, "it says that it is positive, and its support begins at -inf"),
        (Constant, "it says that it has no density"),
        (Light, r"its third_moment is 0\.1, less than 0\.199"),  # E |X - 2|^3 = 2 sqrt(2 / pi) / 8 = 0.1995
        (Counted, r"what distribution\(\) returns has no pdf"),
        (Broken, "its code fails with KeyError: 'scale'"),
    ],
)
def test_what_a_class_says_of_its_laws_is_held_against_their_distribution(
    kind: type[Law], words: str
) -> None:
    register_law(kind)
    with pytest.raises(InvalidInputError, match=words):
        require_sound(kind())
    with pytest.raises(InvalidInputError, match=words) as refused:
        depl.load("tiny").replace(other_switches=kind())
    assert refused.value.path == ".other_switches"
    with pytest.raises(InvalidInputError, match=words):
        depl.risk.probability([kind()], 2.0)


class Any_(Law, frozen=True, kw_only=True, tag="any"):  # noqa: N801 - of any distribution
    number: int

    def distribution(self) -> Any:
        return SOUND[self.number]


SOUND = [
    TRUE,
    stats.norm(1e6, 1e-3),
    stats.t(1.05),  # infinite variance
    stats.t(1.5, 3.0, 0.1),
    stats.t(2.1),  # of variance 21, half of it beyond 1000
    stats.pareto(1.5),
    stats.lomax(2),
    stats.invgamma(2.2),
    stats.lognorm(5),  # of variance exp(50), of which nearly nothing is within reach
    stats.lognorm(1e-5),
    stats.gamma(0.01),
    stats.gamma(1e8),
    stats.beta(0.01, 0.01),  # nearly two atoms
    stats.uniform(5, 1),
    stats.truncnorm(-1, 0.5, 2, 3),
    stats.truncpareto(1.1, 50),
    stats.weibull_min(50),
    stats.rv_histogram(
        (np.array([1, 0, 9, 1e4]), np.array([0, 0.1, 0.2, 0.3, 0.3001])), density=True
    ).freeze(),
]


@pytest.mark.parametrize("number", range(len(SOUND)))
def test_heavy_narrow_cut_and_split_laws_are_no_lies(number: int) -> None:
    register_law(Any_)
    require_sound(Any_(number=number))


def test_a_law_is_asked_once_and_not_for_each_instance_and_epoch() -> None:
    asked = []

    class Watched(Words, frozen=True, kw_only=True, tag="watched"):
        shift: float

        def distribution(self) -> Any:
            asked.append(self.shift)
            return TRUE

    register_law(Watched)
    rows = [{"noise": {"type": "watched", "shift": 0.5}}] * 50
    content = json.loads(document({"type": "watched", "shift": 0.5}))
    content["models"][0]["improvement"] = {"shape": "table", "epochs": rows}
    instance = depl.Instance.from_json(json.dumps(content))
    instance.replace(maximum_loss=9.0)
    depl.Instance.from_json(instance.to_json())
    assert asked == [0.5]


def test_a_class_that_is_not_registered_or_derived_from_a_shipped_law_is_refused() -> None:
    class Own(Normal, frozen=True, kw_only=True, tag="own_normal"):
        pass

    with pytest.raises(InvalidInputError, match="Own is neither shipped nor registered"):
        depl.load("tiny").replace(other_switches=Own(mean=0.0, variance=1.0))
    with pytest.raises(InvalidInputError, match="Own is derived from Normal, whose formulas"):
        register_law(Own)
