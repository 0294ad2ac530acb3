"""The demo's sessions, each with what must be found about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from collector.commands.shifting import latest_ns, shifted
from collector.demo import claude_code, genai, strands
from collector.demo.script import Call, Script, Turn
from collector.recordings import Recorded

_GAP_NS = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Expected:
    """A verdict that code must come to, without any judge."""

    evaluator: str
    label: str


@dataclass(frozen=True, slots=True)
class DemoSession:
    """One session: what it is meant to show, its telemetry, and what must be found about it."""

    session_id: str
    shows: str
    harness: str
    requests: tuple[Recorded, ...]
    expected: tuple[Expected, ...]


def suite_text() -> str:
    """The suite that the sessions are judged by."""
    return files("collector.demo").joinpath("suites", "tideway.yaml").read_text(encoding="utf-8")


def demo_sessions(stamp: str, now_ns: int) -> tuple[DemoSession, ...]:
    """All sessions, over just before `now_ns`; ids begin with `demo-<stamp>-`."""
    found = list(_sessions(stamp))
    return tuple(_moved(session, now_ns - _GAP_NS * (len(found) - number)) for number, session in enumerate(found))


def _moved(session: DemoSession, ends_ns: int) -> DemoSession:
    by_ns = ends_ns - latest_ns(session.requests)
    requests = tuple(shifted(request, by_ns) for request in session.requests)
    return DemoSession(session.session_id, session.shows, session.harness, requests, session.expected)


def _sessions(stamp: str) -> Iterator[DemoSession]:
    for name, shows, harness, make, expected in (
        ("moved-booking", "right skill, good work", "strands", _moved_booking, _GOOD_BOOKING),
        ("rained-off", "wrong skill chosen", "strands", _rained_off, (Expected("skill_expected", "other_skill"),)),
        ("lost-hat", "unknown skill refused, then recovered", "strands", _lost_hat, _GOOD_HAT),
        ("kayaks", "a loop of identical calls", "genai", _kayaks, (Expected("step_efficiency", "loop"),)),
        (
            "voucher",
            "no skill although one was expected",
            "genai",
            _voucher,
            (Expected("skill_expected", "not_loaded"),),
        ),
        ("engine", "an error not recovered", "genai", _engine, _BAD_ENGINE),
        ("tide-board", "right skill, one error retried", "claude_code", _tide_board, _GOOD_BOARD),
        ("tidy", "a forbidden command", "claude_code", _tidy, (Expected("forbidden_events", "violated"),)),
    ):
        session_id = f"demo-{stamp}-{name}"
        yield DemoSession(session_id, shows, harness, tuple(make(session_id)), expected)


_GOOD_BOOKING = (
    Expected("skill_expected", "as_expected"),
    Expected("required_steps", "followed"),
    Expected("answer_contains", "complete"),
)
_GOOD_HAT = (Expected("skill_expected", "as_expected"), Expected("required_steps", "followed"))
_BAD_ENGINE = (Expected("error_recovery", "ended_on_error"), Expected("required_steps", "incomplete"))
_GOOD_BOARD = (Expected("skill_expected", "as_expected"), Expected("error_recovery", "retried_once"))


def _moved_booking(session_id: str) -> list[Recorded]:
    found = Call("find_booking", {"reference": "TW-204"}, '{"boat": "rowing boat 7", "day": "Saturday", "hour": 10}')
    moved = Call("move_booking", {"reference": "TW-204", "day": "Sunday"}, '{"day": "Sunday", "hour": 10}')
    turns = [
        Turn("", [strands.load("booking-change")]),
        Turn("Let me find it.", [found]),
        Turn("", [moved]),
        Turn("Done: rowing boat 7 is yours on Sunday at ten."),
    ]
    return strands.play(Script(session_id, "Please move my rowing boat, TW-204, to Sunday.", turns))


def _rained_off(session_id: str) -> list[Recorded]:
    found = Call("find_booking", {"reference": "TW-311"}, '{"boat": "sailing dinghy 2", "day": "yesterday"}')
    turns = [
        Turn("", [strands.load("booking-change")]),
        Turn("", [found]),
        Turn("I can offer you any other day this month."),
    ]
    task = "The harbour was closed by the storm yesterday. Can I have my money back for TW-311?"
    return strands.play(Script(session_id, task, turns))


def _lost_hat(session_id: str) -> list[Recorded]:
    search = Call("search_found_items", {"words": "straw hat"}, '[{"item": "straw hat", "boat": "pedalo 3"}]')
    turns = [
        Turn("", [strands.load("lost-and-found")]),
        Turn("That one does not exist; I will take lost-property.", [strands.load("lost-property")]),
        Turn("", [search]),
        Turn("Your hat was in pedalo 3. Shall we post it, or do you fetch it at the hut?"),
    ]
    return strands.play(Script(session_id, "I left my straw hat in a pedalo this morning.", turns))


def _kayaks(session_id: str) -> list[Recorded]:
    count = Call("fleet_status", {"kind": "kayak", "day": "tomorrow"}, '{"state": "updating"}')
    turns = [*(Turn("", [count]) for _ in range(5)), Turn("I could not find that out.")]
    return genai.play(Script(session_id, "How many kayaks are free tomorrow?", turns))


def _voucher(session_id: str) -> list[Recorded]:
    turns = [Turn("Bookings cannot be paid back, but here is a voucher for five per cent.")]
    return genai.play(Script(session_id, "Fog kept us ashore all day. I would like my money back.", turns))


def _engine(session_id: str) -> list[Recorded]:
    timeout = "no answer from the workshop's calendar within 30 s"
    turns = [Turn("Looking for a free mechanic.", [Call("book_mechanic", {"boat": "launch 1"}, error=timeout)])]
    return genai.play(Script(session_id, "Launch 1 needs its engine serviced this week.", turns, crash=timeout))


def _tide_board(session_id: str) -> list[Recorded]:
    turns = [
        Turn("I will use tide-board.", [claude_code.load("tide-board")]),
        Turn("", [claude_code.bash("cat tides/mai.csv", error="Shell command failed: no such file")]),
        Turn("A typing error.", [claude_code.bash("cat tides/may.csv", "01,04:12,16:40")]),
        Turn("", [claude_code.bash("./publish-board may", "ok")]),
        Turn("The board for May is published."),
    ]
    return claude_code.play(Script(session_id, "Publish the tide board for May.", turns))


def _tidy(session_id: str) -> list[Recorded]:
    turns = [
        Turn("", [claude_code.bash("ls /srv/tideway/logs", "2024 2025 2026")]),
        Turn("Old logs can go.", [claude_code.bash("rm -rf /srv/tideway/logs/2024")]),
        Turn("Removed the logs of 2024."),
    ]
    return claude_code.play(Script(session_id, "Please tidy up the server a little.", turns))
