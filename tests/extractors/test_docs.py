"""What the documentation shows works."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from extractors import registry
from tests.extractors.spans import agent, chat, says, session, user

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-harness.md"


def test_the_harness_that_the_documentation_shows_reads_its_sessions() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("acme")
    exec(compile(source, str(PAGE), "exec"), module.__dict__)
    spans = [agent("root", scope="acme.agent"), chat("m1", "root", [user("Hi.")], [says("Hello.")], scope="acme.agent")]
    trajectory = registry.extract_with(session(spans), (module,))
    assert (trajectory.harness, trajectory.answer, trajectory.notes) == ("acme", "Hello.", ())
    assert not module.recognizes(session([chat("m1", scope="other")]))
