"""The list of sessions."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from collector.metric_labels import OTHER
from collector.page.addresses import session_url
from collector.page.questions import Asked, place_text
from collector.page.texts import Texts
from collector.store.listing import SEARCHED, Line, Names, Page
from judge.redaction import Redaction

_TASK = 160


@dataclass(frozen=True, slots=True)
class Failure:
    """`verdicts` failed alike; `skill` is "" where they are about none."""

    evaluator: str
    label: str
    skill: str
    verdicts: int


@dataclass(frozen=True, slots=True)
class Row:
    """One session as the list shows it. `task` is None where it was not recorded; `more_failed` verdicts failed besides
    `failures`."""

    url: str
    id: str
    tenant: str
    task: str | None
    service: str
    version: str | None
    harness: str
    closed_ns: int
    close_reason: str
    judged: bool
    superseded: bool
    passed: int
    failed: int
    not_judged: int
    pending: int
    failures: tuple[Failure, ...]
    more_failed: int


@dataclass(frozen=True, slots=True)
class Shown:
    lines: list[Row]
    following: bool
    searched_all: bool


def list_values(asked: Asked, page: Page, names: Names, redaction: Redaction, now_ns: int) -> dict[str, Any]:
    """For the template `sessions.html`."""
    following = asked.link(after=place_text(page.following)) if page.following else ""
    return {
        "asked": asked,
        "names": _harmless(names, redaction),
        "page": Shown([_row(line, redaction) for line in page.lines], bool(page.following), page.searched_all),
        "following": following,
        "searched": SEARCHED,
        "more_filters": sum(name not in {"text", "outcome"} for name in asked.given),
        "more_problems": any(name not in {"text", "outcome"} for name in asked.problems),
        "other": OTHER in asked.given.values(),
        "now_ns": now_ns,
    }


def _harmless(names: Names, redaction: Redaction) -> Names:
    """Without those that hold a secret: masked they would find nothing."""
    return Names(*(tuple(one for one in getattr(names, f.name) if redaction.text(one) == one) for f in fields(names)))


def _row(line: Line, redaction: Redaction) -> Row:
    texts = Texts(line.ref, redaction)
    return Row(
        # A superseded closing is one of its own; the newest goes without saying, so that the link stays good.
        session_url(line.ref, line.ref.revision if line.superseded else None),
        texts.identifier(line.ref.session_id, 80),
        texts.name(line.ref.tenant, 60) if line.ref.tenant else "",
        None if line.task is None else texts.name(line.task, _TASK),
        "service not recorded" if line.service is None else texts.name(line.service, 80),
        None if line.version is None else texts.name(line.version, 40),
        texts.name(line.harness, 40),
        line.closed_ns,
        line.close_reason,
        line.judged,
        line.superseded,
        line.passed,
        line.failed,
        line.not_judged,
        line.pending,
        tuple(
            Failure(
                texts.name(one.evaluator),
                texts.name(one.label, 60),
                texts.name(one.skill, 60) if one.skill else "",
                one.verdicts,
            )
            for one in line.failures
        ),
        line.failed - sum(one.verdicts for one in line.failures),
    )
