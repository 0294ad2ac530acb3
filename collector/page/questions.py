"""What the addresses of pages ask for, checked (pure).

Fields that are empty, as forms send them, are fields that were left out. Names that nobody knows are passed over: links
from elsewhere carry their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import get_args

from collector.page.addresses import address
from collector.store.listing import Place, SessionOutcome, Tenants, Wanted

FILTERS = (
    "text",
    "service",
    "version",
    "harness",
    "skill",
    "evaluator",
    "label",
    "outcome",
    "tenant",
    "since",
    "until",
)
_MOST = 1_000
_LENGTH = re.compile(r"(\d{1,6})\s*(m|min|h|d|w)")
_SECONDS = {"m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_PLACE = re.compile(r"(\d{1,19})\.(\d{1,18})")
_OUTCOMES: tuple[str, ...] = get_args(SessionOutcome)
_TIME_HELP = "is neither a length of time, as 30m, 12h or 7d, nor a moment, as 2026-01-31T12:00Z"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is to show. `given` are the filters as they were written, `problems` says by name what is wrong with
    some of them; those are left out of `wanted`."""

    wanted: Wanted
    given: Mapping[str, str]
    problems: Mapping[str, str]

    def link(self, path: str = "/sessions", **changes: str | None) -> str:
        """The same filters with these changes; None leaves one out."""
        filters = {name: value for name, value in {**self.given, **changes}.items() if value}
        return address(path, filters)


def asked(query: Mapping[str, str], tenants: Tenants, now_ns: int) -> Asked:
    """`tenants` are those whose sessions may be seen."""
    given = {name: value for name in FILTERS if (value := query.get(name, "").strip())}
    problems = {name: f"has more than {_MOST} characters" for name, value in given.items() if len(value) > _MOST}
    good = {name: value for name, value in given.items() if name not in problems}
    wanted = Wanted(
        service=good.get("service"),
        version=good.get("version"),
        harness=good.get("harness"),
        tenant=good.get("tenant"),
        evaluator=good.get("evaluator"),
        label=good.get("label"),
        skill=good.get("skill"),
        text=good.get("text"),
        tenants=tenants,
    )
    match good.get("outcome"):
        case "failed" | "passed" | "not_judged" | "waiting" as outcome:
            wanted = replace(wanted, outcome=outcome)
        case str():
            problems["outcome"] = f"is none of {', '.join(_OUTCOMES)}"
    for name in ("since", "until"):
        if name not in good:
            continue
        moment = instant(good[name], now_ns)
        if moment is None:
            problems[name] = _TIME_HELP
        else:
            wanted = replace(wanted, since_ns=moment) if name == "since" else replace(wanted, until_ns=moment)
    if (value := query.get("after", "")) and (wanted := _placed(wanted, value)).after is None:
        problems["after"] = "is no place in the list"
    return Asked(wanted, given, problems)


def _placed(wanted: Wanted, value: str) -> Wanted:
    found = _PLACE.fullmatch(value)
    if found is None or int(found[1]) >= 2**63:
        return wanted
    return replace(wanted, after=Place(int(found[1]), int(found[2])))


def place_text(place: Place) -> str:
    return f"{place.closed_ns}.{place.number}"


def instant(text: str, now_ns: int) -> int | None:
    """Nanoseconds since 1970 of a moment, or of so long ago; UTC where no time zone is named. None for anything
    else."""
    if found := _LENGTH.fullmatch(text):
        return now_ns - int(found[1]) * _SECONDS[found[2]] * 10**9
    try:
        moment = datetime.fromisoformat(text)
        named = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = int(named.timestamp()) * 10**9
    except (ValueError, OverflowError):
        return None
    return since if 0 <= since < 2**63 else None


def number(text: str, otherwise: int, most: int) -> int:
    """A whole number from 0 to `most`; `otherwise` for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= most else otherwise
