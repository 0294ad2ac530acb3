"""Every problem at once: what is wrong with the files that a configuration names, though it cannot be used itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from collector.config import Config, made_absolute
from collector.rules import load_rules
from judge.documents import DocumentError
from judge.yaml_tree import read_tree

_NEEDS: Mapping[str, frozenset[str]] = {
    "suites": frozenset(),
    "rubrics": frozenset(),
    "evaluators": frozenset({"rubrics"}),
    "judge": frozenset({"rubrics"}),
    "sampling": frozenset({"rubrics", "evaluators"}),
}
"""Sections that sessions are judged by, and the others that must be sound for them to be looked at: a name that
nobody knows may be that of a rubric."""
_WHOLE = ""
"""The section of a problem between sections."""


def with_those_of_its_files(found: DocumentError, file: Path, environment: Mapping[str, str]) -> DocumentError:
    """The problems of the configuration in the file, and after them those of suites, rubrics, evaluators and plugins,
    as far as they can be told without the sections that have problems of their own."""
    config = _sound_part(found, file, environment)
    if config is None:
        return found
    try:
        load_rules(config, str(file))
    except DocumentError as error:
        new = tuple(problem for problem in error.problems if problem not in found.problems)
        return DocumentError((*found.problems, *new))
    return found


def _sound_part(found: DocumentError, file: Path, environment: Mapping[str, str]) -> Config | None:
    try:
        values = read_tree(file.read_text(encoding="utf-8"), environment).value
    except (OSError, UnicodeDecodeError):
        return None  # which is the problem that was found
    if not isinstance(values, dict):
        return None
    broken = {problem.key.partition(".")[0].partition("[")[0] for problem in found.problems}
    if _WHOLE in broken:
        broken |= _NEEDS.keys() - {"suites", "rubrics"}
    sound = [name for name, needed in _NEEDS.items() if name in values and not ({name} | needed) & broken]
    try:
        return made_absolute(Config.model_validate({name: values[name] for name in sound}), file)
    except ValidationError:
        return None  # sections that do not go together: told by one of the problems found
