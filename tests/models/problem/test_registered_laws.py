"""Laws from outside: what `register_law` takes and refuses, and documents that name them."""

import json
from typing import Any, ClassVar

import msgspec
import pytest
from scipy import stats

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance, json_schema
from depl.models.problem.laws import Law, laws, register_law, registered_laws
from depl.models.problem.learning import ConstantImprovement
from tests.cases.gamma_law import BareGammaLaw, GammaLaw

pytestmark = pytest.mark.usefixtures("own_laws")


def document(law: dict[str, Any]) -> str:
    content = json.loads(depl.load("tiny").to_json())
    content["models"][0]["improvement"]["noise"] = law
    return json.dumps(content)


GAMMA = {"type": "gamma", "shape": 4.0, "scale": 1.0}


def test_a_registered_law_is_read_and_written() -> None:
    with pytest.raises(
        InvalidInputError,
        match=r"Invalid value 'gamma'; known here: inverse_gamma, normal, .*; .* registered .*--import FILE",
    ) as refused:
        Instance.from_json(document(GAMMA))
    assert refused.value.path == "$.models[0].improvement.noise.type"
    assert register_law(GammaLaw) is GammaLaw
    instance = Instance.from_json(document(GAMMA))
    assert instance.models[0].improvement.noises() == (GammaLaw(shape=4.0, scale=1.0),)
    again = Instance.from_json(instance.to_json())
    assert again == instance
    assert again.fingerprint == instance.fingerprint
    assert ConstantImprovement(noise=GammaLaw(shape=4.0, scale=1.0)) == instance.models[0].improvement


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"scale": -1.0}, ".scale", "Expected `float` > 0"),
        ({"scale": "wide"}, ".scale", "Expected `float`, got `str`"),
        ({"shape": 1e200}, ".shape", "rescale"),
        ({"rate": 1.0}, "", "unknown field `rate`"),
    ],
)
def test_what_is_wrong_with_its_fields_is_told_with_its_place(
    change: dict[str, Any], path: str, message: str
) -> None:
    register_law(GammaLaw)
    with pytest.raises(InvalidInputError, match=message) as refused:
        Instance.from_json(document({**GAMMA, **change}))
    assert refused.value.path == f"$.models[0].improvement.noise{path}"


def test_the_schema_lists_it() -> None:
    before = json_schema()
    assert "GammaLaw" not in before["$defs"]
    register_law(GammaLaw)
    after = json_schema()
    assert after["$defs"]["GammaLaw"]["required"] == ["type", "shape", "scale"]
    assert '"#/$defs/GammaLaw"' in json.dumps(after["$defs"]["ConstantImprovement"])
    assert '"#/$defs/GammaLaw"' in json.dumps(after["$defs"]["Switch"])


def test_registering_twice_changes_nothing_and_a_taken_tag_is_refused() -> None:
    register_law(GammaLaw)
    register_law(GammaLaw)
    assert registered_laws() == (GammaLaw,)
    other = msgspec.defstruct(
        "Other",
        [("shape", float)],
        bases=(Law,),
        namespace={"distribution": lambda self: stats.gamma(self.shape)},
        tag="gamma",
        frozen=True,
        kw_only=True,
    )
    with pytest.raises(InvalidInputError, match="'gamma' of Other stands for GammaLaw"):
        register_law(other)
    assert GammaLaw in laws()


def test_a_tag_of_the_toolkit_is_refused() -> None:
    class Another(Law, frozen=True, kw_only=True, tag="normal"):
        def distribution(self) -> Any:
            return stats.norm()

    with pytest.raises(InvalidInputError, match="'normal' of Another stands for Normal"):
        register_law(Another)


def test_what_is_no_class_of_laws_is_refused_in_words() -> None:
    class Untagged(Law, frozen=True, kw_only=True):
        def distribution(self) -> Any:
            return stats.norm()

    class Bare(Law, frozen=True, kw_only=True, tag="bare"):
        mean: float

    class Nowhere(Law, frozen=True, kw_only=True, tag="nowhere"):
        for_improvements: ClassVar[bool] = False
        for_switches: ClassVar[bool] = False

        def distribution(self) -> Any:
            return stats.norm()

    class Plain:
        pass

    for kind, message in (
        (Untagged, "Untagged has no tag"),
        (Bare, r"Bare has no method distribution\(\)"),
        (Nowhere, "neither for improvements nor for switches"),
        (Plain, r"Plain is not a class of laws; derive it: class Plain\(depl.Law, frozen=True"),
        (stats.gamma(2.0), "is not a class of laws"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            register_law(kind)  # type: ignore[arg-type]
    assert registered_laws() == ()


def test_a_law_that_is_not_frozen_is_refused() -> None:
    thawed = msgspec.defstruct(
        "Thawed",
        [],
        bases=(Law,),
        namespace={"distribution": lambda _: stats.norm()},
        tag="thawed",
        frozen=False,
    )
    with pytest.raises(InvalidInputError, match="Thawed is not frozen; declare it with frozen=True"):
        register_law(thawed)


def test_a_law_for_improvements_alone_is_none_of_a_switch() -> None:
    class Gains(BareGammaLaw, frozen=True, kw_only=True, tag="gains"):
        for_switches: ClassVar[bool] = False

    register_law(Gains)
    content = json.loads(depl.load("tiny").to_json())
    content["other_switches"] = {"type": "gains", "shape": 1.0, "scale": 1.0}
    with pytest.raises(InvalidInputError, match=r"Invalid value 'gains'") as refused:
        Instance.from_json(json.dumps(content))
    assert refused.value.path == "$.other_switches.type"
