from __future__ import annotations

import pkgutil
from dataclasses import dataclass

import pytest

from extractors import conventions, harnesses, registry
from extractors.spans import Session
from extractors.trajectory import Trajectory
from tests.extractors.spans import chat, record, session, span


@dataclass
class Broken:
    """An extractor with a defect in one of its two functions."""

    raises_in: str
    NAME: str = "broken"

    def recognizes(self, session: Session) -> bool:
        return self._fail_in("recognizes")

    def extract(self, session: Session) -> Trajectory:
        self._fail_in("extract")
        return Trajectory(session.session_id, self.NAME)

    def _fail_in(self, place: str) -> bool:
        if self.raises_in == place:
            raise KeyError("no such thing")
        return True


def modules_of(package: object) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(package.__path__)}  # type: ignore[attr-defined]  # a package


def test_every_harness_file_is_in_the_list() -> None:
    listed = {getattr(harness, "__name__", "").rpartition(".")[2] for harness in registry.HARNESSES}
    assert listed == modules_of(harnesses)


def test_every_convention_file_that_recognizes_sessions_is_in_the_list() -> None:
    listed = {getattr(convention, "__name__", "").rpartition(".")[2] for convention in registry.CONVENTIONS}
    parts = {name for name in modules_of(conventions) if "_" in name}
    assert listed == modules_of(conventions) - parts


def test_names_are_unique() -> None:
    names = [extractor.NAME for extractor in (*registry.HARNESSES, *registry.CONVENTIONS)]
    assert len(names) == len(set(names))
    assert registry.UNRECOGNISED not in names


def test_what_nobody_knows_is_unrecognised_and_says_what_sent_it() -> None:
    trajectory = registry.extract(session([span("one", scope="acme.web"), span("two", scope="acme.db", at_s=7)]))
    assert trajectory.harness == registry.UNRECOGNISED
    assert trajectory.scopes == ("acme.db", "acme.web")
    assert (trajectory.started_ns, trajectory.ended_ns) == (1_000_000_000, 8_000_000_000)


def test_an_empty_session_is_unrecognised() -> None:
    trajectory = registry.extract(Session("empty"))
    assert (trajectory.harness, trajectory.scopes, trajectory.started_ns) == (registry.UNRECOGNISED, (), 0)


@pytest.mark.parametrize("place", ["recognizes", "extract"])
def test_a_defect_in_an_extractor_is_noted_and_takes_nothing_else_down(place: str) -> None:
    trajectory = registry.extract_with(session([chat("one")]), (Broken(place),))
    assert trajectory.harness == registry.UNRECOGNISED
    assert trajectory.notes == ("extractor broken failed: KeyError: 'no such thing'",)


def test_a_harness_that_fails_is_not_replaced_by_a_convention() -> None:
    trajectory = registry.extract_with(session([chat("one")]), (Broken("extract"),), (Broken("never", "convention"),))
    assert trajectory.harness == registry.UNRECOGNISED


def test_a_session_that_two_harnesses_claim_is_noted() -> None:
    trajectory = registry.extract_with(session([chat("one")]), (Broken("never"), Broken("nowhere", "other")))
    assert trajectory.harness == "broken"
    assert trajectory.notes == ("also claimed by other",)


def test_notes_tenant_and_record_times_of_the_session_reach_the_trajectory() -> None:
    source = Session("s", records=(record("app.line", at_s=3),), tenant="shop", notes=("one span was damaged",))
    trajectory = registry.extract(source)
    assert (trajectory.tenant, trajectory.notes) == ("shop", ("one span was damaged",))
    assert (trajectory.started_ns, trajectory.ended_ns) == (3_000_000_000, 3_000_000_000)


def test_attributes_are_the_first_root_spans_over_those_of_its_process() -> None:
    root = span("root", attributes={"desk": "north", "service.name": "renamed", "urgent": True, "weight": 2.5})
    later = span("later", at_s=9, attributes={"desk": "south"})
    found = registry.extract(session([later, span("child", "root", attributes={"desk": "inner"}), root])).attributes
    assert found == {"desk": "north", "service.name": "renamed", "urgent": True, "weight": 2.5}


def test_attributes_of_a_session_without_spans_are_those_of_the_process() -> None:
    found = registry.extract(session(records=[record("app.line", attributes={"desk": "north"})])).attributes
    assert found == {"service.name": "test-service"}


def test_content_is_no_attribute_to_match_on() -> None:
    long = "x" * (registry.MAX_ATTRIBUTE + 1)
    root = span("root", attributes={"gen_ai.input.messages": long, "list": ["a"], "short": "a"})
    assert registry.extract(session([root])).attributes == {"service.name": "test-service", "short": "a"}
