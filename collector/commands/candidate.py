"""The sessions that become a baseline or are compared with one: recordings, judged now, or stored ones as judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.commands.files import config_of, fail, rules_of
from collector.commands.selection import choose_sessions, kept_in_store, with_suites
from collector.commands.session_options import Selection
from collector.commands.stored import open_store, run_with
from collector.judge_building import redaction_of
from collector.offline import concluded, judged_session
from collector.offline_answers import Asked
from collector.store.baselines import KeptSession
from judge.case_results import JudgedSession


@dataclass(frozen=True, slots=True)
class Candidate:
    """`judged` is what gates look at, in the order of `sessions`; `unmatched` the cases of high risk that no recorded
    session fell under; `problems` what of the input could not be used, `remarks` what people should know. `asked` is
    what became of the questions, None where no judge was to be asked."""

    sessions: list[KeptSession]
    judged: list[JudgedSession]
    high_risk: frozenset[str]
    unmatched: tuple[str, ...]
    problems: list[str]
    remarks: list[str]
    asked: Asked | None = None


def candidate(
    selection: Selection,
    suites: Sequence[Path] | None,
    config_file: Path | None,
    data_dir: Path | None,
    *,
    judge: bool,
) -> Candidate:
    """Exits with 1 when there is no session at all."""
    config = config_of(config_file, data_dir)
    if not selection.files:
        if suites or judge:
            raise fail("stored sessions have their verdicts: --suite and --judge go with files")
        store = open_store(config_file, data_dir)
        kept = run_with(store, lambda: kept_in_store(store, selection, redaction_of(config.judge)))
        if not kept:
            raise fail("there is no stored session that fits")
        return Candidate(kept, [judged_session(one) for one in kept], frozenset(), (), [], [])
    config = with_suites(config, suites)
    rules = rules_of(config, config_file)
    chosen = run_with(None, lambda: choose_sessions(selection, None, config, rules, judge=judge))
    if not chosen.examined:
        raise fail("there is no session in the files" + (" of this version" if selection.agent_version else ""))
    sessions = [concluded(one, config.composite.rules()) for one in chosen.examined]
    judged = [judged_session(each, one.cases) for each, one in zip(sessions, chosen.examined, strict=True)]
    risky = [case.key for suite in rules.suites for case in suite.cases if case.high_risk]
    met = {key for one in judged for key in one.cases}
    unmatched = tuple(key for key in risky if key not in met)
    return Candidate(sessions, judged, frozenset(risky), unmatched, chosen.problems, chosen.remarks, chosen.asked)
