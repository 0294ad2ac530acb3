"""What sessions are judged by: configuration, suite files, rubric files and plugins; every problem at once."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

from collector.config import Config, EvaluatorSettings
from collector.judge_building import redaction_of
from collector.reading import Rules
from collector.sessions.keys import SESSION_ID, SessionNames
from judge.catalog import BUILT_IN, NAMES, Entry, build, option_problems, plugin_entry, rubric_entry
from judge.documents import DocumentError, Problem
from judge.options import EvaluatorOptions
from judge.passing import COMPOSITE
from judge.plugins import Plugin
from judge.prices import ModelPrice
from judge.question import Scale
from judge.rubrics import Rubric, parse_rubrics
from judge.scales import scales
from judge.suites import Suite, parse_suites

TAKEN = frozenset({*NAMES, COMPOSITE})
"""Names that no rubric and no plugin may have."""
PLUGIN_GROUP = "spanjudge.evaluators"
"""Entry points of installed packages: each a class or factory that takes nothing and makes an evaluator."""

_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class RuleFiles:
    """The texts of the files that a configuration names, by file name."""

    suites: Mapping[str, str]
    rubrics: Mapping[str, str]


def session_names(config: Config) -> SessionNames:
    """Attributes that may name a session."""
    return SessionNames((SESSION_ID, *config.sessions.aliases), config.sessions.scope_names)


def load_rules(
    config: Config, source: str, plugins: Iterable[EntryPoint] | None = None, *, files: RuleFiles | None = None
) -> Rules:
    """Raises `DocumentError`. `source` is the configuration file, for messages; `plugins` are the installed ones
    unless given; `files` are what was read before, else they are read now."""
    options = {name: _options(entry) for name, entry in config.evaluators.items()}
    in_suites: list[Problem] = []
    suites = _or_problems(
        lambda: load_suites(config.suites, source) if files is None else parse_suites(files.suites), in_suites
    )
    problems: list[Problem] = []
    added = load_plugins(entry_points(group=PLUGIN_GROUP) if plugins is None else plugins, source, problems)
    taken = TAKEN | added.keys()
    rubrics = _or_problems(
        lambda: load_rubrics(config.rubrics, source, taken) if files is None else parse_rubrics(files.rubrics, taken),
        problems,
    )
    custom: dict[str, Entry] = {rubric.id: rubric_entry(rubric) for rubric in rubrics}
    custom |= {name: plugin_entry(plugin) for name, plugin in added.items()}
    # With a broken rubric or plugin, a name that nobody knows may be its: it is looked at once that is mended.
    named = {name: option for name, option in options.items() if not problems or name in {*NAMES, *custom}}
    problems += [Problem(source, 1, f"evaluators.{key}", told) for key, told in option_problems(named, custom)]
    limited = () if problems else config.judge.budget.evaluators
    problems += [
        Problem(source, 1, f"judge.budget.evaluators.{name}", "no such evaluator: its limit would hold nothing back")
        for name in limited
        if name not in {*NAMES, *custom}
    ]
    problems += _sampling_problems(config, source, {} if problems else {**BUILT_IN, **custom})
    if in_suites or problems:
        raise DocumentError((*in_suites, *problems))
    evaluators = build(options, config.judge.transcript_tokens, custom, redaction_of(config.judge))
    return Rules(evaluators, suites, session_names(config), config.sampling.sampling())


def _sampling_problems(config: Config, source: str, entries: Mapping[str, Entry]) -> list[Problem]:
    """Evaluators whose failures are to be kept, and that will never have failed when a session is closed. Without
    `entries` nothing is said."""
    problems: list[Problem] = []
    for place, name in enumerate(config.sampling.keep.failed if entries else ()):
        entry, key = entries.get(name), f"sampling.keep.failed.{place}"
        options = config.evaluators.get(name)
        if entry is None:
            problems.append(Problem(source, 1, key, f"no such evaluator; there are {', '.join(sorted(entries))}"))
        elif options is not None and not options.enabled:
            problems.append(Problem(source, 1, key, f"{name} is not enabled: it would keep nothing"))
        elif entry.prompt is not None and "ask" not in entry.takes:
            problems.append(Problem(source, 1, key, f"{name} asks a judge, who answers when sampling is long decided"))
    return problems


def read_rule_files(config: Config, source: str) -> RuleFiles:
    """Raises `DocumentError` for a file that cannot be read; what is in it is not looked at."""
    problems: list[Problem] = []
    suites, rubrics = (
        _read(patterns, key, source, problems)
        for patterns, key in ((config.suites, "suites"), (config.rubrics, "rubrics"))
    )
    if problems:
        raise DocumentError(tuple(problems))
    return RuleFiles(suites, rubrics)


def load_suites(patterns: tuple[str, ...], source: str) -> tuple[Suite, ...]:
    """The suites in the files that the patterns match, in the order of file names."""
    return _load(patterns, "suites", source, parse_suites)


def load_rubrics(patterns: tuple[str, ...], source: str, taken: frozenset[str] = TAKEN) -> tuple[Rubric, ...]:
    """The rubrics in the files that the patterns match. `taken` are names that they may not have."""
    return _load(patterns, "rubrics", source, lambda files: parse_rubrics(files, taken))


def load_scales(config: Config, source: str) -> dict[str, Scale]:
    """By evaluator, the labels that people may say would have been right. Raises `DocumentError`."""
    return scales(load_rubrics(config.rubrics, source))


def scales_of(files: RuleFiles) -> dict[str, Scale]:
    """The same, of files that were read before."""
    return scales(parse_rubrics(files.rubrics, TAKEN))


def load_plugins(found: Iterable[EntryPoint], source: str, problems: list[Problem]) -> dict[str, Plugin]:
    """The evaluators of installed packages by their ids. What cannot be used is added to `problems`."""
    plugins: dict[str, Plugin] = {}
    for point in sorted(found, key=lambda point: (point.name, point.value)):
        where = f"the plugin {point.name} ({point.value})"
        try:
            plugin = Plugin(point.load()())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's module may fail in any way at all
            told = f"{where} cannot be loaded: {type(error).__name__}: {error}"
            problems.append(Problem(source, 1, "evaluators", told))
            continue
        if plugin.id in TAKEN or plugin.id in plugins:
            problems.append(Problem(source, 1, "evaluators", f"{where} calls itself {plugin.id}, which is taken"))
        else:
            plugins[plugin.id] = plugin
    return plugins


def _options(entry: EvaluatorSettings) -> EvaluatorOptions:
    return EvaluatorOptions(
        enabled=entry.enabled,
        model=entry.model,
        effort=entry.effort,
        prompt_version=entry.prompt_version,
        system_prompt=entry.system_prompt,
        votes=entry.votes,
        max_questions=entry.max_questions,
        only=entry.only,
        ask=entry.ask,
        prices={pattern: ModelPrice(price.input, price.output) for pattern, price in entry.prices.items()},
        allow=entry.allow,
        kinds=entry.kinds,
    )


def _or_problems(load: Callable[[], tuple[_Parsed, ...]], problems: list[Problem]) -> tuple[_Parsed, ...]:
    """What was loaded; nothing, and its problems added, when it cannot be used."""
    try:
        return load()
    except DocumentError as error:
        problems += error.problems
        return ()


def _load(
    patterns: tuple[str, ...], key: str, source: str, parse: Callable[[Mapping[str, str]], tuple[_Parsed, ...]]
) -> tuple[_Parsed, ...]:
    problems: list[Problem] = []
    files = _read(patterns, key, source, problems)
    parsed = _or_problems(lambda: parse(files), problems)
    if problems:
        raise DocumentError(tuple(problems))
    return parsed


def _read(patterns: tuple[str, ...], key: str, source: str, problems: list[Problem]) -> dict[str, str]:
    """Texts by file name, in the order of names. A pattern that matches nothing is a problem: a file that silently is
    not there would let everything pass."""
    files: dict[str, str] = {}
    for pattern in patterns:
        found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns
        if not found:
            problems.append(Problem(source, 1, key, f"no file matches {pattern}"))
        for name in found:
            try:
                files[name] = Path(name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                problems.append(Problem(name, 1, "", f"the file cannot be read: {error}"))
    return files
