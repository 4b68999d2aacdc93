"""The sequences of lowest expected loss against brute force, and by hand where ties are broken."""

import itertools
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from depl.heuristics.baselines.expected import lowest_expected_sequences
from depl.models.problem.epochs import compute, loss_step
from depl.models.problem.instance import InverseSqrtImprovement, PowerDataLaw, TabledImprovement
from depl.models.problem.laws import Forbidden, InverseGamma, Normal, Zero
from tests.problems import BELL, atoms, gain, law, model, student
from tests.problems import instance as made

ONE = frozenset({"d"})


def instance_of(*models, **fields):
    return made(*models, initial_loss=10, maximum_loss=1, maximum_epochs=6, maximum_time=100, **fields)


def mean(step):
    parts = [Fraction(repr(a.coefficient)) * Fraction(repr(a.law.moments().mean)) for a in step.terms]
    return Fraction(repr(step.shift)) + sum(parts)


def by_brute_force(instance, datasets, epochs):
    """The best of all sequences of ``epochs`` models, each evaluated from scratch in exact arithmetic."""
    names = [model.name for model in instance.models]

    def value(models):
        loss, work, since = Fraction(0), Fraction(0), 0
        previous = instance.target.initial_model
        for epoch, name in enumerate(models, start=1):
            since = since + 1 if epoch > 1 and previous == name else 0
            loss += mean(loss_step(instance, epoch, since, previous, name, datasets))
            work += Fraction(repr(compute(instance, epoch, name, datasets)))
            previous = name
        return loss, work, [names.index(name) for name in models]

    def allowed(models):
        before = (instance.target.initial_model, *models)
        return all(instance.may_follow(a, b) for a, b in zip(before, models, strict=False))

    return min(filter(allowed, itertools.product(names, repeat=epochs)), key=value)


improvements = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, 0.5]).map(gain),
    st.builds(
        InverseSqrtImprovement,
        scale=st.sampled_from([0.5, 1.0, 2.0]),
        offset=st.sampled_from([0.0, 3.0]),
        noise=st.sampled_from([InverseGamma(mean=0.5, variance=0.01), Normal(mean=0.4, variance=1.0)]),
    ),
    st.lists(st.sampled_from([-0.1, 0.0, 0.2, 0.4]), min_size=6, max_size=6).map(
        lambda values: TabledImprovement(epochs=tuple(map(gain, values)))
    ),
)
switch_laws = st.sampled_from(
    [Zero(), Forbidden(), law(0.1), law(-0.1), BELL, atoms(-0.3, 0.1), student(3.0, 0.25, 0.1, -0.5, 1.5)]
)


@st.composite
def instances(draw):
    """One to three models; values on a coarse decimal grid, so that ties are common."""
    names = ["c", "a", "b"][: draw(st.integers(1, 3))]
    models = [model(name, draw(improvements), draw(st.sampled_from([1.0, 2.0]))) for name in names]
    pairs = [pair for pair in itertools.permutations(names, 2) if draw(st.booleans())]
    return instance_of(
        *models,
        initial_model=draw(st.sampled_from([None, *names])),
        switches={pair: draw(switch_laws) for pair in pairs},
        other_switches=draw(switch_laws),
        datasets={"d": 1.0, "e": 3.0},
        data_law=draw(st.sampled_from([None, PowerDataLaw(p=0.5)])),
    )


@given(instances(), st.sampled_from([frozenset("d"), frozenset("e"), frozenset("de")]))
@settings(deadline=None, max_examples=30)
def test_every_sequence_is_the_best_of_all(instance, datasets):
    found = lowest_expected_sequences(instance, datasets, 5)
    assert found == [by_brute_force(instance, datasets, epochs) for epochs in range(1, 6)]
    assert lowest_expected_sequences(instance, datasets, 0) == []
