"""The sessions that become a baseline or are compared with one: recordings, judged now, or stored ones as judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.commands.files import config_of, fail, rules_of
from collector.commands.selection import Selection, choose_sessions, kept_in_store, with_suites
from collector.commands.stored import open_store, run_with
from collector.offline import concluded, judged_session
from collector.store.baselines import KeptSession
from judge.case_results import JudgedSession


@dataclass(frozen=True, slots=True)
class Candidate:
    """`judged` is what gates look at, in the order of `sessions`; `unmatched` the cases of high risk that no recorded
    session fell under; `problems` what of the input could not be used."""

    sessions: list[KeptSession]
    judged: list[JudgedSession]
    high_risk: frozenset[str]
    unmatched: tuple[str, ...]
    problems: list[str]


def candidate(
    selection: Selection,
    suites: Sequence[Path] | None,
    config_file: Path | None,
    data_dir: Path | None,
    *,
    judge: bool,
) -> Candidate:
    """Exits with 1 when there is no session at all."""
    if not selection.files:
        if suites or judge:
            raise fail("stored sessions have their verdicts: --suite and --judge go with files")
        store = open_store(config_file, data_dir)
        kept = run_with(store, lambda: kept_in_store(store, selection))
        if not kept:
            raise fail("there is no stored session that fits")
        return Candidate(kept, [judged_session(one) for one in kept], frozenset(), (), [])
    config = with_suites(config_of(config_file, data_dir), suites)
    rules = rules_of(config, config_file)
    chosen = run_with(None, lambda: choose_sessions(selection, None, config, rules, judge=judge))
    if not chosen.examined:
        raise fail("there is no session in the files" + (" of this version" if selection.agent_version else ""))
    sessions = [concluded(one, config.composite.rules()) for one in chosen.examined]
    judged = [judged_session(each, one.cases) for each, one in zip(sessions, chosen.examined, strict=True)]
    risky = [case.key for suite in rules.suites for case in suite.cases if case.high_risk]
    met = {key for one in judged for key in one.cases}
    return Candidate(sessions, judged, frozenset(risky), tuple(key for key in risky if key not in met), chosen.problems)
