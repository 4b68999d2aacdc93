"""The rule that turns readings into a verdict."""

import pytest

from depl.benchmarks.report.verdicts import Claim, Findings, Reading, Ruling, judged, rule
from tests.report_cases import evidence

YES, NO, MIXED = Reading("a", 3, 3), Reading("b", 0, 3), Reading("c", 2, 3)
SILENT = Reading("d", 0, 0)


def test_a_reading_answers_by_its_cases():
    assert (YES.holds, NO.holds, MIXED.holds, SILENT.holds) == (True, False, None, None)


def test_one_case_refutes_a_reading_about_all_cases():
    assert Reading("a", 2, 3, always=True).holds is False
    assert Reading("a", 3, 3, always=True).holds is True
    assert Reading("a", 0, 0, always=True).holds is None


@pytest.mark.parametrize(
    ("readings", "ruling"),
    [
        ([], Ruling.UNMEASURED),
        ([SILENT], Ruling.UNMEASURED),
        ([YES], Ruling.HOLDS),
        ([YES, YES, SILENT], Ruling.HOLDS),
        ([NO, SILENT], Ruling.FAILS),
        ([MIXED], Ruling.UNDECIDABLE),
        ([YES, NO], Ruling.UNDECIDABLE),
        ([YES, MIXED], Ruling.UNDECIDABLE),
        ([NO, MIXED], Ruling.UNDECIDABLE),
    ],
)
def test_a_claim_is_decided_only_if_all_measured_readings_agree(readings, ruling):
    assert rule(readings) is ruling


def test_verdicts_are_numbered_and_say_why():
    def claim(key: str, *readings: Reading) -> Claim:
        return Claim(key, key, "Sec. I", "This is open.", lambda given: Findings(readings))

    one, two, three, four = judged(
        [
            claim("one", YES, NO, MIXED),
            claim("two", Reading("a", 1, 1, "so it is")),
            claim("three"),
            claim("four", NO, NO),
        ],
        evidence(),
    )
    assert [one.number, two.number, three.number, four.number] == [1, 2, 3, 4]
    assert one.reason == "Of 3 readings 1 for it, 1 against it, 1 that differ among cases. This is open."
    assert two.reason == "It is so: so it is."
    assert three.ruling is Ruling.UNMEASURED
    assert four.reason == "It is not so under all 2 readings."
