"""What the documentation shows works."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from extractors import registry
from extractors.coverage import Level, Setting, coverage
from tests.extractors.spans import agent, chat, says, session, user
from tests.fakes.provenance import fields

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-harness.md"


def shown(language: str) -> str:
    (source,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    text: str = source
    return text


@pytest.fixture(scope="module")
def acme() -> ModuleType:
    module = ModuleType("acme")
    exec(compile(shown("python"), str(PAGE), "exec"), module.__dict__)
    return module


def test_the_harness_that_the_documentation_shows_reads_its_sessions(acme: ModuleType) -> None:
    spans = [agent("root", scope="acme.agent"), chat("m1", "root", [user("Hi.")], [says("Hello.")], scope="acme.agent")]
    trajectory = registry.extract_with(session(spans), (acme,))
    assert (trajectory.harness, trajectory.answer, trajectory.notes) == ("acme", "Hello.", ())
    assert not acme.recognizes(session([chat("m1", scope="other")]))


def test_the_settings_that_the_documentation_shows_speak_of_what_its_sessions_lack(acme: ModuleType) -> None:
    settings: tuple[Setting, ...] = acme.SETTINGS
    bare = acme.extract(session([agent("root", scope="acme.agent"), chat("m1", "root", scope="acme.agent")]))
    lacking = {signal for signal, tally in coverage(bare).items() if tally.level is Level.NOT_RECORDED}
    assert lacking
    assert lacking <= {signal for setting in settings for signal in setting.signals}


def test_the_provenance_that_the_documentation_shows_is_read(tmp_path: Path) -> None:
    (tmp_path / "provenance.md").write_text(shown("markdown"), encoding="utf-8")
    assert fields(tmp_path) == {"mode": "content off (default)", "like": "skill-then-tool"}
