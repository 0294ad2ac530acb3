from __future__ import annotations

from dataclasses import replace

from collector.calibration import Calibration, calibrations, pass_rates
from collector.store.labels import Counted, GivenLabel, Label
from judge.calibration import Confusion, Estimate, Minimum, NoEstimate
from judge.pass_rates import Tally, of_session
from judge.verdict import SessionRef
from judge.yardstick import Yardstick

ASKED = Yardstick("goal_completion", "1+v1", "model-a", "v1")
NEWER = replace(ASKED, version="1+v2", prompt_version="v2")
CODE = Yardstick("budgets", "1")


def tally(passed: int, failed: int) -> Tally:
    found = Tally()
    for number in range(passed + failed):
        found += of_session(1, int(number < passed), 1.0)
    return found


def counted(yardstick: Yardstick = ASKED, passed: int = 80, failed: int = 20, **of: str) -> Counted:
    return Counted(of.get("service", "shop"), of.get("agent_version", "7"), yardstick, tally(passed, failed))


def said(verdict: str, passed: bool, passes: bool, author: str = "ana", yardstick: Yardstick = ASKED) -> GivenLabel:
    label = Label(verdict, author, 1, passed == passes, passes, "I read it.")
    return GivenLabel(label, SessionRef("s"), yardstick, "Complete" if passed else "Failed", passed)


def many(true_pass: int, false_pass: int, false_fail: int, true_fail: int) -> list[GivenLabel]:
    words = [(True, True)] * true_pass + [(True, False)] * false_pass
    words += [(False, True)] * false_fail + [(False, False)] * true_fail
    return [said(f"v{number}", passed, passes) for number, (passed, passes) in enumerate(words)]


def test_labels_are_held_against_the_verdicts_they_are_on() -> None:
    (found,) = calibrations(many(18, 2, 1, 19), [counted()])
    assert found.confusion == Confusion(18, 2, 1, 19)
    assert (found.authors, found.disputed, found.tally.verdicts) == (1, 0, 100)
    assert isinstance(found.accuracy.sensitivity, Estimate)


def test_a_disputed_verdict_is_counted_as_that_and_nothing_else() -> None:
    given = [said("v1", True, True), said("v1", True, False, author="bo"), said("v2", True, True)]
    (found,) = calibrations(given, [counted()])
    assert (found.confusion, found.disputed, found.authors) == (Confusion(true_pass=1), 1, 2)


def test_versions_prompts_and_models_are_told_apart() -> None:
    other = replace(ASKED, model="model-b")
    found = calibrations([said("v1", True, True), said("v2", True, True, yardstick=other)], [counted(), counted(NEWER)])
    assert {one.yardstick: one.confusion.labels for one in found} == {ASKED: 1, other: 1, NEWER: 0}


def test_a_judged_evaluator_nobody_labelled_is_listed_and_one_in_code_is_not() -> None:
    (found,) = calibrations([], [counted(), counted(CODE)])
    assert found.yardstick == ASKED
    assert found.accuracy.kappa == NoEstimate("not_enough_labels", "no labels")


def test_an_evaluator_in_code_can_be_labelled_too() -> None:
    (found,) = calibrations([said("v1", True, True, yardstick=CODE)], [counted(CODE)])
    assert found.yardstick == CODE


def known() -> list[Calibration]:
    return calibrations(many(30, 2, 3, 25), [counted(passed=160, failed=40)])


def test_rates_are_corrected_by_what_is_known_of_the_evaluator() -> None:
    (rate,) = pass_rates([counted(passed=80, failed=20)], known())
    assert rate.key == ("shop", "goal_completion", "7")
    assert (rate.tally.ratio, rate.labels) == (0.8, 60)
    assert isinstance(rate.corrected, Estimate)
    assert rate.corrected.low < rate.corrected.value < rate.corrected.high


def test_a_version_without_labels_leaves_the_rate_uncorrected() -> None:
    (rate,) = pass_rates([counted(), counted(NEWER, 1, 0)], known())
    assert rate.tally.verdicts == 101
    assert rate.corrected == NoEstimate("not_enough_labels", "no labels")


def test_rates_are_by_service_and_agent_version_unless_told_otherwise() -> None:
    counts = [counted(), counted(service="bank"), counted(agent_version="8")]
    assert [rate.key for rate in pass_rates(counts, [])] == [
        ("bank", "goal_completion", "7"),
        ("shop", "goal_completion", "7"),
        ("shop", "goal_completion", "8"),
    ]
    (rate,) = pass_rates(counts, [], key=lambda _: ("other", "goal_completion", "other"))
    assert rate.tally.verdicts == 300


def test_how_many_labels_it_takes_can_be_set() -> None:
    (few,) = calibrations(many(8, 1, 1, 8), [counted()])
    assert few.accuracy.agreement == NoEstimate("not_enough_labels", "18 of 30 labels")
    (enough,) = calibrations(many(8, 1, 1, 8), [counted()], Minimum(10, 5))
    assert isinstance(enough.accuracy.agreement, Estimate)
