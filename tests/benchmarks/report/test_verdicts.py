"""The rule that turns readings into a verdict."""

import msgspec
import pytest

from depl.benchmarks.report.evidence import Part, drawn
from depl.benchmarks.report.verdicts import (
    Claim,
    Findings,
    Reading,
    Ruling,
    answers,
    counts,
    judged,
    rule,
)
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import costs, evidence, paper

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
    assert one.reason == "It holds in 1 reading, fails in 1 and differs among cases in 1. This is open."
    assert two.reason == "It holds: so it is."
    assert three.ruling is Ruling.UNMEASURED
    assert four.reason == "It fails under each of the 2 readings."


def test_a_verdict_over_a_part_of_the_readings_says_so():
    def verdict(*readings: Reading):
        claim = Claim("key", "claim", "Sec. I", "This is open.", lambda given: Findings(readings))
        return judged([claim], evidence())[0]

    part = verdict(YES, YES, *[SILENT] * 14)
    assert part.words == "holds (2 of 16 readings measured)"
    assert part.reason == "It holds under each of the 2 readings that are measured, of 16."
    one = verdict(SILENT, Reading("a", 0, 1, "none of 1"))
    assert one.words == "fails (1 of 2 readings measured)"
    assert one.reason == "It fails under the one reading that is measured, of 2: none of 1."
    assert (verdict(YES, YES).words, verdict(NO).words) == ("holds", "fails")
    open_ = verdict(YES, NO, SILENT)
    assert open_.words == "not decidable from the paper (2 of 3 readings measured)"
    assert open_.reason == (
        "Of 3 readings 2 are measured. It holds in 1 reading and fails in 1. This is open."
    )
    assert verdict(SILENT, SILENT).words == "not measured"


def judged_on(given, *readings: Reading):
    claim = Claim("key", "claim", "Sec. I", "This is open.", lambda given: Findings(readings))
    return judged([claim], given)[0]


def test_a_verdict_over_a_part_of_the_instances_says_so():
    given = evidence(paper(costs(exact=(17, 12, 8), depl=(17, 12, 9))))
    found = judged_on(given, Reading("a", 1, 1, "one of one"))
    assert found.words == "holds (3 of 25 instances of paper measured)"
    assert found.reason == "It holds: one of one. Only 3 of 25 instances of paper are measured."
    assert judged_on(given, SILENT).words == "not measured"


def test_all_instances_of_a_suite_leave_nothing_open():
    attempts = [attempt_of(name, "exact", suite="paper", cost=1.0) for name in drawn("paper")]
    reading = Reading("a", 5, 5)
    assert judged_on(evidence(attempts), reading).words == "holds"
    less = [attempt_of(name, "depl", suite="paper", cost=1.0) for name in list(drawn("paper"))[1:]]
    assert judged_on(evidence([*attempts, *less]), reading).words == (
        "holds (24 of 25 instances of paper measured)"
    )
    mine = attempt_of("one", "depl", suite="a-suite-of-mine", cost=1.0)
    assert judged_on(evidence([*attempts, mine]), reading).words == "holds"


def test_without_the_prover_of_a_suite_proved_optima_count_in_its_place():
    unproved = [attempt_of(name, "depl", suite="paper", cost=1.0) for name in drawn("paper")]
    assert evidence(unproved).parts == (Part("paper", 0, 25),)
    proved = [msgspec.structs.replace(item, ending="optimal") for item in unproved[:7]]
    assert evidence([*proved, *unproved[7:]]).parts == (Part("paper", 7, 25),)


def test_answers_of_readings_are_a_phrase():
    assert answers([YES, YES, *[NO] * 7]) == "holds in 2 readings and fails in 7"
    assert (
        answers([MIXED, NO, SILENT])
        == "fails in 1 reading, differs among cases in 1 and is not measured in 1"
    )
    assert answers([YES]) == "holds in 1 reading"


def test_counts_agree_with_their_verbs():
    claims = [
        Claim(str(place), "", "", "", lambda given, found=found: Findings(found))
        for place, found in enumerate([[YES], [YES], [NO], [NO], [MIXED], [SILENT], [SILENT]])
    ]
    told = ["2 hold", "2 fail", "1 is not decidable from the paper", "2 are not measured"]
    assert [words for _, words in counts(judged(claims, evidence()))] == told
