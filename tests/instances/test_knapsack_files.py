"""Public knapsack files: every format read, shipped files, and what is refused where."""

from fractions import Fraction

import pytest

from depl.cli import main
from depl.instances.chance_knapsack_files import announced_items, read_chance_knapsack
from depl.instances.knapsack_files import NamedKnapsack, read_knapsacks, shipped_knapsack, shipped_knapsacks
from depl.instances.reductions.chance import ChanceKnapsack
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity, best_by_value
from depl.models.foundation.errors import InvalidInputError

SACK = Knapsack.of([3, 4, Fraction(1, 2)], [2, Fraction(7, 4), 3], 6)


def written(folder, text, name="some.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "3 6\n3 2\n4 1.75\n.5 3\n",
        "\n3\n6\n\n3 2\n4 1.75\n0.50 3.0\n",
        "3\n3 2\n4 1.75\n5e-1 3\n6",
        "3 6 \r\n3 2\r\n4 1.75 \r\n.5\t3",
        "3 6\n3,2\n4,1.75\n.5,3\n",
    ],
    ids=["one line", "kplib", "capacity last", "other line ends", "commas"],
)
def test_rows_are_read_with_exact_decimals(tmp_path, text):
    (found,) = read_knapsacks(written(tmp_path, text))
    assert found == NamedKnapsack("some", SACK)


def test_a_solution_in_the_last_line_is_read_and_so_are_many_items(tmp_path):
    (found,) = read_knapsacks(written(tmp_path, "3 6\n3 2\n4 1.75\n.5 3\n1 0 1\n"))
    assert found.items == (0, 2)
    (found,) = read_knapsacks(written(tmp_path, "2 6\n3 2\n1 0\n"))  # a last item, no solution
    assert found.items is None
    assert found.knapsack.values == (3, 1)
    (found,) = read_knapsacks(written(tmp_path, "10000 0.125\n" + "70001 12.345\n" * 10_000))
    assert found.knapsack == Knapsack.of([70001] * 10_000, [Fraction(12345, 1000)] * 10_000, Fraction(1, 8))


def test_pisingers_files_hold_several_instances(tmp_path):
    text = (
        "knapPI_11_2_1000_1\nn 2\nc 970\nz 582\ntime 0.00\n1,582,194,1\n2,194,873,0\n-----\n\n"
        "knapPI_11_2_1000_2\nn 2\nc 10\nz 0\ntime 0.02\n1,5,194,0\n2,6,873,0\n-----\n\n"
    )
    first, second = read_knapsacks(written(tmp_path, text, "pi.csv"))
    assert first == NamedKnapsack(
        "knapPI_11_2_1000_1", Knapsack.of([582, 194], [194, 873], 970), Fraction(582), (0,)
    )
    assert (second.name, second.knapsack.capacity, second.items) == ("knapPI_11_2_1000_2", 10, None)


def test_the_shipped_knapsacks_are_those_with_published_optima():
    families = {f"knapPI_{kind}" for kind in (1, 2, 3)}
    assert {name.rpartition("_l-d_")[0] or name[:8] for name in shipped_knapsacks()} == families | {
        f"f{number}" for number in range(1, 11)
    }
    assert len(shipped_knapsacks()) == 10 + 3 * 7
    assert shipped_knapsack("knapPI_1_1000_1000_1").optimum == 54503


def size_of(name):
    return int(name.split("_")[2]) if name.startswith("knapPI") else 0


WHOLE = sorted(set(shipped_knapsacks()) - {"f5_l-d_kp_15_375"})


@pytest.mark.parametrize("name", [name for name in WHOLE if size_of(name) < 5000])
def test_the_dynamic_programs_reproduce_the_published_optima(name):
    shipped = shipped_knapsack(name)
    found = best_by_capacity(shipped.knapsack)
    assert found.value == shipped.optimum
    assert shipped.knapsack.holds(found.items)
    assert shipped.knapsack.value_of(found.items) == found.value
    if size_of(name) < 500:
        assert best_by_value(shipped.knapsack).value == shipped.optimum


# --- chance-constrained ---------------------------------------------------------------------------------


def test_a_header_that_announces_more_items_than_there_are_is_refused_or_taken_as_asked(tmp_path, capsys):
    short = written(tmp_path, "3 20 0.95\n10 6 1.5\n7 5 0\n")
    with pytest.raises(InvalidInputError, match=r"2 items; announced: 3; .*--fewer-items"):
        read_chance_knapsack(short)
    found = read_chance_knapsack(short, fewer_items=True)
    assert (len(found), announced_items(short)) == (2, 3)
    assert main(["knapsack", str(short), "--chance", "--fewer-items"]) == 0
    assert "2 items, taken as they are; its first line announces 3" in capsys.readouterr().out
    for text in ("1 20 0.95\n10 6 1.5\n7 5 0\n", "2 20 0.95\n"):
        with pytest.raises(InvalidInputError, match=r"announced: [12]; correct the number of items$"):
            read_chance_knapsack(written(tmp_path, text), fewer_items=True)


def test_chance_constrained_knapsacks_are_read_with_a_probability_or_a_factor(tmp_path):
    text = "2 20 {}\n\n10 6 1.5\n7 5 0\n"
    found = read_chance_knapsack(written(tmp_path, text.format("0.95")))
    assert found == ChanceKnapsack.of([10, 7], [6, 5], [Fraction(3, 2), 0], 20, 0.95)
    assert found.safety == pytest.approx(1.6448536269514722)
    found = read_chance_knapsack(written(tmp_path, text.format("4.3589")))
    assert found.safety == pytest.approx(4.3589, rel=1e-10)
    for third, level in (("omega=0.95", 0.95), ("z=1", 0.8413447460685429), ("z=0", 0.5)):
        assert read_chance_knapsack(written(tmp_path, text.format(third))).level == pytest.approx(level)


WRONG = [
    ("", "", "is empty"),
    ("3\n", "line 1", "no capacity follows"),
    ("2.5 6\n", "line 1", "must be whole"),
    ("0 6\n", "line 1", "at least 1"),
    ("2 6 1\n", "line 1", "holds 3 numbers"),
    ("2 6\n\n3 2\n", "line 3", "1 item; announced: 2"),
    ("1 6\n3 2\n4 5\n", "line 3", "2 items; announced: 1"),
    ("2 6\n3 2\n4\n", "line 3", "holds 1 number; expected: value and weight"),
    ("2 6\n3 2\n4 1..5\n", "line 3", "weight is '1..5', which is no decimal"),
    ("2 6\n3 2\n4 1e999999\n", "line 3", "no decimal"),
    ("2 6\n3 2\n-4 1\n", "line 3", "value is -4; it must not be negative"),
    ("1 -6\n3 2\n", "line 1", "capacity is -6"),
    ("knapPI_1\nn 1\n1,2,3,0\n", "line 1", "begins with its name"),
    ("knapPI_1\nn 1\nc 5\nz 1\n2,2,3,0\n", "line 5", "item 1 of 1"),
    ("knapPI_1\nn 2\nc 5\n1,2,3,0\n-----\n", "line 5", "item 2 of 2"),
    ("knapPI_1\nn 2\nc 5\n1,2,3,0\n", "line 4", "1 item; announced: 2"),
    ("knapPI_1\nn x\nc 5\n1,2,3,0\n", "line 2", "n is 'x'"),
]
WRONG_CHANCE = [
    ("1 20\n1 1 1\n", "line 1", "expected: number of items, capacity and omega"),
    ("1 20 0.4\n1 1 1\n", "line 1", "write z=0.4 for a probability of 0.655422, or omega=... from 0.5"),
    ("1 20 1\n1 1 1\n", "line 1", "write z=1 for a probability of 0.841345, or omega=... from 0.5 to"),
    ("1 20 1.0\n1 1 1\n", "line 1", "may be omega or the factor z"),
    ("1 20 omega=1\n1 1 1\n", "line 1", "omega is 1; give a probability from 0.5 to below 1"),
    ("1 20 p=0.9\n1 1 1\n", "line 1", "names neither omega nor z"),
    ("1 20 z=x\n1 1 1\n", "line 1", "omega is 'x', which is no decimal number"),
    ("1 20 9\n1 1 1\n", "line 1", "the factor z is 9; give one up to 7"),
    ("2 20 2\n1 1 1\n", "line 2", "1 item; announced: 2"),
    ("1 20 2\n1 1\n", "line 2", "expected: value, mean and variance"),
    ("1 20 2\n1 1 -1\n", "line 2", "variance is -1"),
]


@pytest.mark.parametrize(
    ("read", "text", "place", "message"),
    [
        *((read_knapsacks, *row) for row in WRONG),
        *((read_chance_knapsack, *row) for row in WRONG_CHANCE),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, read, text, place, message):
    path = written(tmp_path, text)
    with pytest.raises(InvalidInputError, match=message) as caught:
        read(path)
    assert caught.value.path == (f"{path}: {place}" if place else str(path))
