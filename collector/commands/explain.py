"""`spanjudge explain`: why there is a score or none from every evaluator and case, and what it can be traced by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from rich.text import Text

from collector.clock import SystemClock
from collector.commands.files import ConfigFile, DataDir, config_of, fail, rules_of
from collector.commands.remedies import remedy
from collector.commands.sessions import time_text
from collector.commands.stored import Chosen, choose, open_store
from collector.commands.terminal import LONG, NOT_RECORDED, console, safe, short, styled
from collector.errors import StoreUnavailable
from collector.explaining import Reason, explain_cases, explain_evaluators
from collector.sampling import sampled_by
from collector.store.labels import Label
from collector.store.records import JUDGED, tame
from collector.store.store import Store
from collector.waiting import Why, why_open
from judge.verdict import Judged, SessionRef

_WORDS = {
    "score": ("score", "green"),
    "not_applicable": ("n/a", "dim"),
    "filtered_out": ("filtered out", "dim"),
    "waiting": ("waiting", "yellow"),
    "not_judged": ("not judged", "bold red"),
    "disabled": ("disabled", "dim"),
    "no_verdict": ("no verdict", "yellow"),
    "does_not_match": ("not about this", "dim"),
}
_WIDTH = 15


@dataclass(frozen=True, slots=True)
class _Found:
    chosen: Chosen
    verdicts: list[Judged]
    labels: list[Label]
    waiting: dict[str, Why]


def explain(
    session: Annotated[str, typer.Argument(help="Session id, or its beginning.", metavar="SESSION")],
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    revision: Annotated[
        int | None, typer.Option(help="An earlier closing of the session. Default: the newest.", metavar="N")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Where several tenants have a session of this id.")] = None,
    evaluator: Annotated[str | None, typer.Option(help="Only this evaluator.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: evaluators, cases, verdicts.")] = False,
) -> None:
    """Say for every evaluator and every case of the suites why the session has a score from it, or none.

    A score comes with everything it can be traced by: versions of evaluator and prompt, hash of the prompt, judge
    model, agent, models, skill, tools, close reason, revision, and the share of sessions that is kept. What has no
    score says why and what to do; a question that waits, how often it was tried, when it is tried next, and what is in
    the way, as the server said last. Suites and disabled evaluators are those of the configuration, so name the
    server's with -c.

    \b
    Examples:
      spanjudge explain 4711 -c spanjudge.yaml
      spanjudge explain 4711 -c spanjudge.yaml --evaluator goal_completion
      spanjudge explain 4711 --json | jq '.evaluators[] | select(.standing != "score")'
    """
    config = config_of(config_file, data_dir)
    rules = rules_of(config, config_file)

    async def find() -> _Found:
        store = open_store(config_file, data_dir)
        try:
            chosen = await choose(store, session, tenant, revision)
            verdicts = await store.verdicts(chosen.session.ref)
            labels = await store.labels.of_verdicts([one.id for one in verdicts])
            return _Found(chosen, verdicts, labels, await _waiting(store, chosen.session.ref))
        except StoreUnavailable as error:
            raise fail(str(error)) from error
        finally:
            await store.close()

    found = asyncio.run(find())
    cases = [case for suite in rules.suites for case in suite.cases]
    by_evaluator = explain_evaluators(found.chosen.session, found.verdicts, rules, found.waiting)
    by_case = explain_cases(found.chosen.session, found.verdicts, cases, found.waiting)
    if evaluator is not None:
        by_evaluator = [one for one in by_evaluator if one.of == evaluator]
        by_case = [one for one in by_case if one.judged and one.judged.verdict.evaluator == evaluator]
        if not by_evaluator:
            raise fail(f"there is no evaluator {safe(evaluator)}")
    if as_json:
        document: dict[str, Any] = {
            "session": tame(found.chosen.session.ref),
            "sampled_by": tame(f"sampling.{sampled_by(found.chosen.session.note)}"),
            "evaluators": [_document(one) for one in by_evaluator],
            "cases": [_document(one) for one in by_case],
            "verdicts": [json.loads(JUDGED.dump(one)) for one in found.verdicts],
            "labels": [tame(one) for one in found.labels],
        }
        typer.echo(TypeAdapter(dict[str, Any]).dump_json(document))
        return
    screen = console()
    for line in _lines(found, by_evaluator, by_case, suites=bool(rules.suites)):
        screen.print(line)


async def _waiting(store: Store, ref: SessionRef) -> dict[str, Why]:
    """Why the session's questions are open, by their ids."""
    told, now_ns = await store.obstacles.told(), SystemClock().now_ns()
    return {one.id: why_open(one, told, now_ns) for one in await store.open_questions(ref)}


def _lines(found: _Found, by_evaluator: Sequence[Reason], by_case: Sequence[Reason], *, suites: bool) -> Iterator[Text]:
    closing = found.chosen.session
    newest = max(found.chosen.revisions)
    superseded = f", superseded by {newest}" if closing.ref.revision < newest else ""
    yield styled((safe(closing.ref.session_id), "bold cyan"))
    yield styled(
        f"closed {time_text(closing.closed_ns)} UTC by {closing.close_reason}, revision {closing.ref.revision}"
        f"{superseded}, inclusion probability {closing.inclusion_probability:g} "
        f"(sampling.{safe(sampled_by(closing.note))})"
    )
    yield Text()
    yield styled(("evaluators", "bold"))
    for reason in by_evaluator:
        yield from _reason(reason)
        if reason.judged is not None:
            yield from _trace(reason.judged, [one for one in found.labels if one.verdict_id == reason.judged.id])
    yield Text()
    yield styled(("cases", "bold"), "" if suites else ": this configuration has no suites; name the server's with -c")
    for reason in by_case:
        yield from _reason(reason)


def _reason(reason: Reason) -> Iterator[Text]:
    word, style = _WORDS[reason.standing]
    name = reason.judged.verdict.subject.name if reason.judged else None
    about = f" of {short(name, 60)}" if name else ""
    code = f"{safe(reason.reason)}: " if reason.reason and reason.why != reason.reason else ""
    yield styled((f"  {word:<{_WIDTH}}", style), (safe(reason.of), "bold"), f"{about}  {code}{short(reason.why, LONG)}")
    if reason.reason:
        yield styled(" " * (_WIDTH + 2), ("what to do: ", "dim"), remedy(reason.cause or reason.reason))


def _trace(judged: Judged, labels: Sequence[Label]) -> Iterator[Text]:
    """Everything the verdict can be traced by, and what people said about it."""
    verdict = judged.verdict
    facts = {
        "verdict": judged.id,
        "evaluator": verdict.evaluator_version,
        "case": verdict.case,
        "judge model": verdict.judge_model,
        "agreement of votes": None if verdict.agreement is None else f"{verdict.agreement:.2f}",
        "prompt": None if verdict.prompt_version is None else f"{verdict.prompt_version} {verdict.prompt_hash or ''}",
        "service": _pair(judged.service, judged.service_version),
        "agent": _pair(judged.agent, judged.agent_version),
        "harness": _pair(judged.harness, judged.harness_version),
        "models": ", ".join(judged.models) or None,
        "system prompt": judged.system_prompt_hash,
        "tools": judged.tool_definitions_hash,
        "skill": _pair(verdict.subject.name, judged.skill_version) if verdict.subject.kind == "skill" else None,
        "close reason": judged.close_reason,
        "revision": str(judged.session.revision),
        "inclusion": f"{judged.inclusion_probability:g}",
    }
    always = {"service", "agent", "models", "system prompt", "tools"}
    told = [f"{name} {safe(value or NOT_RECORDED)}" for name, value in facts.items() if value or name in always]
    yield styled(" " * (_WIDTH + 2), (" · ".join(told), "dim"))
    for label in labels:
        word = "agrees" if label.agrees else "disagrees"
        right = f" ({safe(label.right_label)})" if label.right_label else ""
        yield styled(
            " " * (_WIDTH + 2), f"{safe(label.author)} {word}{right} on {time_text(label.at_ns)}: ", short(label.reason)
        )


def _pair(name: str | None, version: str | None) -> str | None:
    return name if name is None or version is None else f"{name} {version}"


def _document(reason: Reason) -> dict[str, object]:
    return {
        "of": tame(reason.of),
        "standing": reason.standing,
        "why": tame(reason.why),
        "reason": reason.reason or None,
        "cause": reason.cause or None,
        "what_to_do": remedy(reason.cause or reason.reason) if reason.reason else None,
        "verdict": reason.judged.id if reason.judged else None,
    }
