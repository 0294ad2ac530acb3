"""What sessions are judged by, read from the configuration and the suite files; every problem at once."""

from __future__ import annotations

import glob
from pathlib import Path

from collector.config import Config
from collector.judging import Rules
from collector.sessions.keys import SESSION_ID
from judge.catalog import build, option_problems
from judge.documents import DocumentError, Problem
from judge.options import EvaluatorOptions
from judge.suites import Suite, parse_suites


def session_names(config: Config) -> tuple[str, ...]:
    """Attributes that may name a session, strongest first."""
    return (SESSION_ID, *config.sessions.aliases)


def load_rules(config: Config, source: str) -> Rules:
    """Raises `DocumentError`. `source` is the configuration file, for messages."""
    options = {
        name: EvaluatorOptions(entry.enabled, entry.model, entry.effort, entry.prompt_version, entry.system_prompt)
        for name, entry in config.evaluators.items()
    }
    problems = [Problem(source, 1, f"evaluators.{key}", message) for key, message in option_problems(options)]
    suites: tuple[Suite, ...] = ()
    try:
        suites = load_suites(config.suites, source)
    except DocumentError as error:
        problems += error.problems
    if problems:
        raise DocumentError(tuple(problems))
    return Rules(build(options, config.judge.transcript_tokens), suites, session_names(config))


def load_suites(patterns: tuple[str, ...], source: str) -> tuple[Suite, ...]:
    """The suites in the files that the patterns match, in the order of file names. A pattern that matches nothing is
    a problem: a suite that silently is not there would let everything pass."""
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for pattern in patterns:
        found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns
        if not found:
            problems.append(Problem(source, 1, "suites", f"no file matches {pattern}"))
        for name in found:
            try:
                files[name] = Path(name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                problems.append(Problem(name, 1, "", f"the file cannot be read: {error}"))
    try:
        suites = parse_suites(files)
    except DocumentError as error:
        problems += error.problems
    else:
        if not problems:
            return suites
    raise DocumentError(tuple(problems))
