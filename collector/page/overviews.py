"""Counts by skill, and by service and version, from what the store counted (pure)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from collector.page.plots import Plot, Series, Share, plot
from collector.store.listing import Counts, Stretch, VerdictsCounted
from judge.evaluators.skill_expected import SkillExpected
from judge.evaluators.skill_instruction_following import SkillInstructionFollowing
from judge.evaluators.skill_selection import SkillSelection
from judge.passing import COMPOSITE

PIECES = 24
MOST_SKILLS = 60
MOST_SERVICES = 30
MOST_VERSIONS = 8
SELECTION, EXPECTED, FOLLOWING = SkillSelection.id, SkillExpected.id, SkillInstructionFollowing.id


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of verdicts that passed, and how many had no score."""

    share: Share = field(default_factory=Share)
    without: int = 0


@dataclass(frozen=True, slots=True)
class SkillRow:
    """Of one service and version. `offered` are sessions, None where of none it was recorded what was on offer; loads
    are attempts. `selection` is the judge's word whether loading it was right, `expected` the suites'."""

    service: str | None
    version: str | None
    offered: int | None
    loaded: int
    refused: int
    unanswered: int
    selection: Rate
    expected: Rate
    following: Rate


@dataclass(frozen=True, slots=True)
class SkillOverview:
    """`name` is None for loads of which the name was not recorded."""

    name: str | None
    rows: tuple[SkillRow, ...]
    plot: Plot | None


@dataclass(frozen=True, slots=True)
class VersionColumn:
    version: str | None
    sessions: int


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """`rates` by version, in the order of the columns."""

    evaluator: str
    rates: tuple[Rate, ...]


@dataclass(frozen=True, slots=True)
class ServiceOverview:
    service: str | None
    versions: tuple[VersionColumn, ...]
    more_versions: int
    rows: tuple[EvaluatorRow, ...]
    plot: Plot | None


_Key = tuple[str | None, str | None, str | None]


def skills(counts: Counts, stretch: Stretch) -> tuple[list[SkillOverview], int]:
    """Those with most loads first, then by name; and how many more there are."""
    offered = _offered(counts)
    loads: defaultdict[_Key, list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in counts.loads:
        numbers = loads[one.skill, one.service, one.version]
        for at, number in enumerate((one.loaded, one.refused, one.unanswered)):
            numbers[at] += number
    about = [one for one in counts.verdicts if one.skill is not None]
    rates = _rates(about, lambda one: (one.evaluator, one.skill, one.service, one.version))
    recorded = {(one.service, one.version) for one in counts.offered if one.skills is not None}
    keys = {*loads, *offered, *((one.skill, one.service, one.version) for one in about)}
    by_skill: defaultdict[str | None, list[_Key]] = defaultdict(list)
    for key in keys:
        by_skill[key[0]].append(key)
    order = sorted(
        by_skill, key=lambda name: (-sum(sum(loads[key]) for key in by_skill[name] if key in loads), name or "")
    )

    def row(key: _Key) -> SkillRow:
        _, service, version = key
        loaded, refused, unanswered = loads.get(key, (0, 0, 0))
        known = (service, version) in recorded
        selection, expected, following = (rates.get((one, *key), Rate()) for one in (SELECTION, EXPECTED, FOLLOWING))
        number = offered.get(key, 0) if known else None
        return SkillRow(service, version, number, loaded, refused, unanswered, selection, expected, following)

    found = [
        SkillOverview(
            name,
            tuple(row(key) for key in sorted(by_skill[name], key=lambda key: (key[1] or "", key[2] or ""))),
            _skill_plot([one for one in about if one.skill == name], stretch),
        )
        for name in order[:MOST_SKILLS]
    ]
    return found, max(0, len(order) - MOST_SKILLS)


def _offered(counts: Counts) -> Mapping[_Key, int]:
    offered: defaultdict[_Key, int] = defaultdict(int)
    for one in counts.offered:
        for skill in one.skills or ():
            offered[skill, one.service, one.version] += one.sessions
    return offered


def _skill_plot(about: Sequence[VerdictsCounted], stretch: Stretch) -> Plot | None:
    names = ((SELECTION, "selection accuracy"), (EXPECTED, "as suites expect"), (FOLLOWING, "instructions followed"))
    series = [
        Series(name, _by_piece([one for one in about if one.evaluator == evaluator]), style)
        for style, (evaluator, name) in enumerate(names)
    ]
    shown = [one for one in series if any(share.of for share in one.shares)]
    return plot(shown, stretch.since_ns, stretch.piece_ns) if shown else None


def _by_piece(verdicts: Iterable[VerdictsCounted]) -> list[Share]:
    found = [Share()] * PIECES
    for one in verdicts:
        if 0 <= one.piece < PIECES:
            found[one.piece] = found[one.piece].and_(one.passed, one.passed + one.failed)
    return found


def _rates(
    verdicts: Iterable[VerdictsCounted], key: Callable[[VerdictsCounted], tuple[str | None, ...]]
) -> Mapping[tuple[str | None, ...], Rate]:
    found: defaultdict[tuple[str | None, ...], Rate] = defaultdict(Rate)
    for one in verdicts:
        before = found[key(one)]
        share = before.share.and_(one.passed, one.passed + one.failed)
        found[key(one)] = Rate(share, before.without + one.not_judged)
    return found


def services(counts: Counts, stretch: Stretch) -> tuple[list[ServiceOverview], int]:
    """Those with most sessions first; and how many more there are."""
    sessions: defaultdict[str | None, defaultdict[str | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    sizes: defaultdict[tuple[str | None, str | None], int] = defaultdict(int)
    for one in counts.sessions:
        sessions[one.service][one.version].append(one.piece)
        sizes[one.service, one.version] += one.sessions
    order = sorted(sessions, key=lambda name: (-sum(sizes[name, version] for version in sessions[name]), name or ""))
    return [
        _service(name, sessions[name], {version: sizes[name, version] for version in sessions[name]}, counts, stretch)
        for name in order[:MOST_SERVICES]
    ], max(0, len(order) - MOST_SERVICES)


def _service(
    service: str | None,
    pieces: Mapping[str | None, Sequence[int]],
    sizes: Mapping[str | None, int],
    counts: Counts,
    stretch: Stretch,
) -> ServiceOverview:
    # Those that were seen last, in the order in which they came.
    newest = sorted(pieces, key=lambda version: (max(pieces[version]), min(pieces[version]), version or ""))
    versions = newest[-MOST_VERSIONS:]
    own = [one for one in counts.verdicts if one.service == service]
    rates = _rates(own, lambda one: (one.evaluator, one.version))
    names = sorted({one.evaluator for one in own}, key=lambda name: (name != COMPOSITE, name))
    rows = [EvaluatorRow(name, tuple(rates.get((name, version), Rate()) for version in versions)) for name in names]
    everything = Series("verdicts passed", _by_piece(one for one in own if one.evaluator != COMPOSITE))
    drawn = plot([everything], stretch.since_ns, stretch.piece_ns) if any(one.of for one in everything.shares) else None
    return ServiceOverview(
        service,
        tuple(VersionColumn(version, sizes[version]) for version in versions),
        len(newest) - len(versions),
        tuple(rows),
        drawn,
    )
