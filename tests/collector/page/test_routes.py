"""The page, asked over HTTP as browsers do, on a real store and behind the real access middleware."""

from __future__ import annotations

import contextlib
import hashlib
import html
import re
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio

from collector.access.settings import AccessSettings
from collector.access.turns import Turns
from collector.page.settings import PageSettings
from collector.store.sqlite import SqliteStore
from extractors.trajectory import Prompt
from judge.redaction import Redaction
from judge.suites import parse_suite
from judge.verdict import NotApplicable, NotJudged, Score
from tests.fakes.page import page
from tests.fakes.rich_session import TRACE, fill, rich_session, span
from tests.fakes.verdicts import ANCHOR, NOW_NS, closed, judged

TOKEN = "ghp" + "_" + "x9" * 18


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    await fill(store, [rich_session()])
    yield store
    await store.close()


@pytest_asyncio.fixture
async def client(store: SqliteStore) -> AsyncIterator[httpx.AsyncClient]:
    async with page(store) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def text_of(client: httpx.AsyncClient, path: str, status: int = 200) -> str:
    """What a reader sees, without tags, on one line."""
    answer = await client.get(path)
    assert answer.status_code == status, answer.text
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


async def form_of(client: httpx.AsyncClient, path: str) -> dict[str, str]:
    """The hidden fields of the page's last form."""
    text = (await client.get(path)).text
    last = text[text.rindex("<form") :]
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', last)
    return {name: html.unescape(value) for name, value in found}


async def test_the_list_says_how_a_session_stands_and_leads_to_it(client: httpx.AsyncClient) -> None:
    text = await text_of(client, "/sessions")
    assert "3 failed 2 passed 2 without a score 1 waiting" in text
    assert 'href="/sessions/desk-4711"' in (await client.get("/sessions")).text


async def test_an_alert_s_link_shows_only_what_it_is_about(client: httpx.AsyncClient, store: SqliteStore) -> None:
    await store.finish(closed("other"), [judged("other")], [], [])
    link = "/sessions?service=support-desk&skill=ledger&evaluator=skill_selection&label=No"
    text = await text_of(client, link)
    assert "desk-4711" in text
    assert "Failed: skill_selection No of ledger , argument_correctness wrong_value , composite fail" in text
    assert "other" not in text
    assert "No session fits" in await text_of(client, link + "&outcome=passed")


async def test_a_filter_that_makes_no_sense_is_told_beside_its_field(client: httpx.AsyncClient) -> None:
    assert "Closed since is neither a length of time" in await text_of(client, "/sessions?since=tomorrow", 422)


async def test_pages_of_a_long_list_follow_each_other(client: httpx.AsyncClient, store: SqliteStore) -> None:
    for number in range(60):
        await store.finish(closed(f"s-{number}", closed_ns=NOW_NS - number), [], [], [])
    first = (await client.get("/sessions")).text
    found = re.search(r'href="([^"]*)" rel="next"', first)
    assert found is not None
    second = (await client.get(html.unescape(found[1]))).text
    ids = [re.findall(r'<code class="id">([^<]*)', text) for text in (first, second)]
    assert len(ids[0]) == 50
    assert len(ids[1]) == 11
    assert not set(ids[0]) & set(ids[1])


async def test_a_session_has_its_verdicts_beside_what_they_judge(client: httpx.AsyncClient) -> None:
    text = await text_of(client, "/sessions/desk-4711")
    refusal = text.index("The skill ledger is not enabled")
    verdict = text.index("Nothing here is to be booked", refusal)
    assert refusal < verdict < text.index("order-finder", refusal)
    for fact in (
        "judge-m-4",
        "skill_selection.v2",
        "sampling probability 0.1",
        "close reason idle",
        "9f2c51d0a7be4410",
    ):
        assert fact in text
    assert "tool definitions hash not recorded" in text


async def test_every_missing_score_says_why_and_what_to_do(client: httpx.AsyncClient) -> None:
    text = await text_of(client, "/sessions/desk-4711")
    assert "Why is there no score? judge_refused. What to do: the model declined to answer about this session" in text
    assert "waiting for a judge for 60 s; no attempt counted against it yet" in text
    assert "it was not enabled, or not there yet, when the session closed" in text


async def test_what_is_the_same_of_many_evaluators_is_said_once(client: httpx.AsyncClient, store: SqliteStore) -> None:
    reason = NotJudged("no_judge_configured", "nobody to ask")
    verdicts = [
        judged("again", name, outcome=reason, skill=None, ref="session") for name in ("faithfulness", "goal_completion")
    ]
    idle = judged("again", "budgets", outcome=NotApplicable("no case limits anything"), skill=None, ref="session")
    await store.finish(closed("again"), [*verdicts, idle], [], [])
    text = await text_of(client, "/sessions/again")
    assert text.count("What to do: set ANTHROPIC_API_KEY") == 1
    assert text.index("faithfulness") < text.index("goal_completion") < text.index("What to do:")
    assert "Not applicable (1) budgets, version" in text
    assert text.count("it was not enabled, or not there yet") == 1


async def test_the_head_says_what_failed_why_and_what_ran(client: httpx.AsyncClient) -> None:
    text = await text_of(client, "/sessions/desk-4711")
    head = text[: text.index("Timeline")]
    for fact in ("service support-desk", "model model-l-2", "pay_back got amount 1290.0 where 129.0 was paid."):
        assert fact in head


async def test_an_earlier_revision_is_kept_apart(client: httpx.AsyncClient, store: SqliteStore) -> None:
    again = rich_session(closed_ns=NOW_NS + 5 * 10**9)
    await store.finish(replace(again, ref=replace(again.ref, revision=2)), [], [], [])
    assert "A later closing supersedes this one" in await text_of(client, "/sessions/desk-4711?revision=1")
    assert "supersedes" not in await text_of(client, "/sessions/desk-4711")
    assert "There is no such session" in await text_of(client, "/sessions/desk-4711?revision=7", 404)


async def test_a_trace_leads_to_its_session_and_a_span_to_its_place(client: httpx.AsyncClient) -> None:
    assert (await client.get(f"/traces/{TRACE}")).headers["location"] == "/sessions/desk-4711"
    step = await client.get(f"/traces/{TRACE}/{span(14).span_id}")
    assert step.headers["location"] == f"/sessions/desk-4711?revision=1#span-{span(14).span_id}"
    assert f'id="span-{span(14).span_id}"' in (await client.get("/sessions/desk-4711")).text
    assert "No session that is kept" in await text_of(client, f"/traces/{'0' * 32}", 404)


async def test_a_step_leads_to_the_trace_back_end(store: SqliteStore) -> None:
    settings = PageSettings(trace_url="https://tempo.example/{trace_id}/{span_id}", public_url="https://judge.example")
    async with page(store, settings=settings) as url, httpx.AsyncClient(base_url=url) as client:
        text = (await client.get("/sessions/desk-4711")).text
    assert f'href="https://tempo.example/{TRACE}/{span(14).span_id}"' in text
    assert "https://judge.example/sessions/desk-4711?revision=1" in text


async def test_a_text_of_megabytes_is_shown_part_by_part(client: httpx.AsyncClient, store: SqliteStore) -> None:
    long = rich_session("long")
    assert long.trajectory is not None
    answer = "word " * 300_000
    await store.finish(replace(long, trajectory=replace(long.trajectory, answer=answer)), [], [], [])
    whole = await client.get("/sessions/long")
    assert len(whole.content) < 100_000
    found = re.search(r'href="(/text[^"]*)"', whole.text)
    assert found is not None
    part = await client.get(html.unescape(found[1]))
    assert "part 1 of 8" in part.text
    assert len(part.content) < 300_000
    assert "part 8 of 8" in (await client.get(html.unescape(found[1]) + "&part=99")).text
    assert (await client.get("/text?session=long&of=call.99.result")).status_code == 404


async def test_a_timeline_of_thousands_has_parts(client: httpx.AsyncClient, store: SqliteStore) -> None:
    long = rich_session("long")
    assert long.trajectory is not None
    steps = long.trajectory.steps[:1] * 1_000
    await store.finish(replace(long, trajectory=replace(long.trajectory, steps=steps)), [], [], [])
    text = await text_of(client, "/sessions/long")
    assert "1 to 200 201 to 400" in text
    assert (await client.get("/sessions/long?first=200")).text.count('<li class="entry') == 200


async def test_secrets_are_shown_nowhere(store: SqliteStore) -> None:
    spoke = rich_session("s-2")
    assert spoke.trajectory is not None
    prompts = (Prompt(f"use {TOKEN} {'more ' * 400}{TOKEN}", ANCHOR, NOW_NS),)
    versions = replace(spoke.trajectory.versions, service=TOKEN)
    trajectory = replace(spoke.trajectory, prompts=prompts, answer=f"it is {TOKEN}", versions=versions)
    told = judged("s-2", outcome=Score(0.0, "No", f"it called login {TOKEN}"), skill=TOKEN)
    await store.finish(replace(spoke, trajectory=trajectory, note=f"see {TOKEN}"), [told], [], [])
    paths = ["/sessions", "/sessions/s-2", "/skills", "/versions", f"/label?verdict={told.id}", "/label"]
    paths += ["/text?session=s-2&of=answer", "/text?session=s-2&of=task", f"/text?session=s-2&of=verdict.{told.id}.x"]
    async with page(store, redaction=Redaction()) as url, httpx.AsyncClient(base_url=url) as client:
        for path in paths:
            answer = await client.get(path)
            assert answer.status_code == 200, path
            assert "x9x9" not in answer.text, path
        assert "holds a secret" in (await client.get("/case?session=s-2")).text


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202e\x1b[31m javascript:alert(3) {{ 7*7 }} %s'\""


async def test_what_agents_write_is_text(client: httpx.AsyncClient, store: SqliteStore) -> None:
    session = rich_session(HOSTILE)
    assert session.trajectory is not None
    versions = replace(session.trajectory.versions, service=HOSTILE, agent_version=HOSTILE)
    calls = (replace(session.trajectory.tool_calls[2], name=HOSTILE, arguments={HOSTILE: HOSTILE}, result=HOSTILE),)
    trajectory = replace(
        session.trajectory,
        prompts=(Prompt(HOSTILE, ANCHOR, NOW_NS),),
        tool_calls=calls,
        versions=versions,
        answer=HOSTILE,
    )
    told = judged(HOSTILE, outcome=Score(0.0, HOSTILE, HOSTILE), skill=HOSTILE)
    await store.finish(replace(session, trajectory=trajectory), [told], [], [])
    paths = ["/sessions", "/skills", "/versions", "/label", f"/label?verdict={told.id}", f"/traces/{ANCHOR.trace_id}"]
    for path in paths:
        answer = await client.get(path, follow_redirects=True)
        assert answer.status_code == 200, path
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert "\u202e" not in answer.text
        assert "\x1b" not in answer.text
        assert ">49<" not in answer.text
        assert not re.search(r'(href|src|action)="\s*javascript:', answer.text)


async def test_every_page_forbids_what_is_not_its_own(client: httpx.AsyncClient) -> None:
    for path in ("/sessions", "/sessions/desk-4711", "/skills", "/label", "/sessions/absent"):
        answer = await client.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<[^>]*\s(style|on[a-z]+)=", answer.text)
        assert "<style" not in answer.text


async def test_stylesheet_and_script_may_be_kept_for_ever(client: httpx.AsyncClient) -> None:
    text = (await client.get("/sessions")).text
    for path in re.findall(r'"(/page/[^"]*)"', text):
        assert "immutable" in (await client.get(path)).headers["cache-control"]
    assert (await client.get("/page/x/../../settings.py")).status_code == 404
    assert (await client.get("/page/x/routes.py")).status_code == 404


async def labelled(store: SqliteStore, verdict: str) -> list[tuple[str, bool, str | None, str]]:
    labels = await store.labels.of_verdicts([verdict])
    return [(label.author, label.agrees, label.right_label, label.reason) for label in labels]


async def test_a_label_is_kept_and_leads_on_to_the_next_verdict(client: httpx.AsyncClient, store: SqliteStore) -> None:
    fields = await form_of(client, "/label?evaluator=skill_selection")
    said = {**fields, "agree": "yes", "reason": "I read it.", "author": "ana"}
    answer = await client.post("/label", data=said)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/label?evaluator=skill_selection&author=ana"
    assert await labelled(store, fields["verdict"]) == [("ana", True, None, "I read it.")]
    following = await form_of(client, answer.headers["location"])
    assert following["verdict"] != fields["verdict"]
    said = {**following, "agree": "no", "label": "", "reason": "It is not.", "author": "ana"}
    done = await client.post("/label", data=said, follow_redirects=True)
    assert "Nothing is left to label" in done.text


async def test_what_is_no_label_is_told_and_what_was_written_stays(
    client: httpx.AsyncClient, store: SqliteStore
) -> None:
    fields = await form_of(client, "/label?evaluator=skill_selection")
    answer = await client.post("/label", data={**fields, "agree": "no", "label": "Perhaps", "reason": "my words"})
    assert answer.status_code == 422
    assert "author is missing" in answer.text
    assert "my words" in answer.text
    assert await labelled(store, fields["verdict"]) == []


async def test_a_form_without_its_secret_changes_nothing(client: httpx.AsyncClient, store: SqliteStore) -> None:
    fields = await form_of(client, "/label?evaluator=skill_selection")
    said = {**fields, "agree": "yes", "reason": "x", "author": "ana", "csrf": "0" * 64}
    assert (await client.post("/label", data=said)).status_code == 403
    assert (await client.post("/case", data={"session": "desk-4711"})).status_code == 403
    assert await labelled(store, fields["verdict"]) == []


async def test_skipping_goes_on_and_a_label_from_the_session_goes_back_to_it(client: httpx.AsyncClient) -> None:
    first = (await client.get("/label?evaluator=skill_selection")).text
    found = re.search(r'href="([^"]*)" data-key="s"', first)
    assert found is not None
    fields = await form_of(client, html.unescape(found[1]))
    assert fields["skip"]
    said = {**fields, "evaluator": "", "skip": "", "agree": "yes", "reason": "x", "author": "ana"}
    answer = await client.post("/label", data=said)
    assert answer.headers["location"] == f"/sessions/desk-4711?revision=1&author=ana#v-{fields['verdict']}"


async def test_a_case_is_shown_downloaded_and_added_where_a_suite_is_named(store: SqliteStore, tmp_path: Path) -> None:
    suite = tmp_path / "desk.yaml"
    async with page(store) as url, httpx.AsyncClient(base_url=url) as client:
        look = await client.get("/case?session=desk-4711&forbid=delete_*&high_risk=yes")
        assert "delete_*" in look.text
        assert "page.suite_file" in look.text
        download = await client.get("/case.yaml?session=desk-4711")
        assert parse_suite(download.text, "x").cases[0].expected_skill == "refunds"
        assert "attachment" in download.headers["content-disposition"]
    async with page(store, settings=PageSettings(suite_file=suite)) as url, httpx.AsyncClient(base_url=url) as client:
        fields = await form_of(client, "/case?session=desk-4711&id=first")
        answer = await client.post("/case", data=fields)
        assert "Added desk/first to desk.yaml" in answer.text
        assert [case.id for case in parse_suite(suite.read_text(), "x").cases] == ["first"]
        again = await client.post("/case", data=fields)
        assert again.status_code == 422
        assert "there is a case first already" in again.text
        assert len(parse_suite(suite.read_text(), "x").cases) == 1


async def test_a_suite_that_cannot_be_written_is_told(store: SqliteStore, tmp_path: Path) -> None:
    settings = PageSettings(suite_file=tmp_path / "absent" / "desk.yaml")
    async with page(store, settings=settings) as url, httpx.AsyncClient(base_url=url) as client:
        answer = await client.post("/case", data=await form_of(client, "/case?session=desk-4711"))
    assert answer.status_code == 422
    assert "cannot be used" in answer.text


def tokens(tmp_path: Path) -> AccessSettings:
    """ana sees the tenant north, bert all and changes nothing."""
    file = tmp_path / "tokens.yaml"
    of = {name: hashlib.sha256(f"{name * 12}".encode()).hexdigest() for name in ("ana", "bert")}
    file.write_text(
        f"tokens:\n  - {{name: ana, sha256: {of['ana']}, tenants: [north]}}\n"
        f"  - {{name: bert, sha256: {of['bert']}, read_only: true}}\n"
    )
    return AccessSettings(tokens_file=file)


async def test_nobody_sees_another_tenant_s_sessions_on_any_page(store: SqliteStore, tmp_path: Path) -> None:
    await fill(store, [rich_session("of-north", tenant="north")])
    (foreign,) = [one for one in await store.verdicts(rich_session().ref) if one.verdict.evaluator == "composite"]
    async with page(store, access=tokens(tmp_path)) as url:
        headers = {"authorization": f"Bearer {'ana' * 12}"}
        async with httpx.AsyncClient(base_url=url, headers=headers) as ana:
            listed = await text_of(ana, "/sessions")
            assert "of-north" in listed
            assert "desk-4711" not in listed
            for path in (
                "/sessions/desk-4711",
                "/sessions/desk-4711?tenant=",
                "/text?session=desk-4711&of=answer",
                f"/label?verdict={foreign.id}",
                "/case?session=desk-4711",
                "/case.yaml?session=desk-4711",
            ):
                assert (await ana.get(path)).status_code == 404, path
            assert (await ana.get(f"/traces/{TRACE}")).headers["location"] == "/sessions/of-north?tenant=north"
            assert "1 judged sessions" in await text_of(ana, "/versions")
            assert "1 judged sessions" in await text_of(ana, "/skills")
            fields = await form_of(ana, "/label?evaluator=skill_selection")
            assert "of-north" in (await ana.get(f"/label?verdict={fields['verdict']}")).text
            said = {**fields, "verdict": foreign.id, "agree": "yes", "reason": "x"}
            assert (await ana.post("/label", data=said)).status_code == 404
            kept = await ana.post("/label", data={**fields, "agree": "yes", "reason": "x", "author": "eve"})
            assert kept.status_code == 303
            assert [one[0] for one in await labelled(store, fields["verdict"])] == ["ana"]


async def test_who_may_only_look_is_offered_nothing_to_change(store: SqliteStore, tmp_path: Path) -> None:
    async with page(store, access=tokens(tmp_path)) as url:
        headers = {"authorization": f"Bearer {'bert' * 9 + 'bert' * 3}"}
        async with httpx.AsyncClient(base_url=url, headers=headers) as bert:
            text = (await bert.get("/sessions/desk-4711")).text
            assert "<form" not in text.replace("filters", "")
            assert "You may look" in (await bert.get("/label?evaluator=skill_selection")).text


async def test_a_session_of_several_tenants_offers_them(client: httpx.AsyncClient, store: SqliteStore) -> None:
    await fill(store, [rich_session(tenant="north")])
    text = (await client.get("/sessions/desk-4711")).text
    assert 'href="?tenant=north"' in text


async def test_a_session_may_be_called_anything(client: httpx.AsyncClient, store: SqliteStore) -> None:
    for name in ("..", "a/../b", "%2e", "?x=1#y", "ü <b>", "a\r\nSet-Cookie: b=c", "two\nlines\n", "nul\x00"):
        await store.finish(closed(name, task=f"task of {name}", service="odd"), [], [], [])
    text = (await client.get("/sessions?service=odd")).text
    links = re.findall(r'<h2><a href="([^"]*)"', text)
    assert len(links) == 8
    for link in links:
        assert "task of" in await text_of(client, html.unescape(link))


async def test_a_page_reads_no_other_closing_s_record(tmp_path: Path) -> None:
    damaged: list[str] = []
    path = tmp_path / "verdicts.db"
    store = SqliteStore.open(path, damage=damaged.append)
    await store.finish(closed("again"), [], [], [])
    await store.finish(closed("again", revision=2, closed_ns=NOW_NS + 1), [], [], [])
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        assert file.execute("UPDATE sessions SET record = '{' WHERE revision = 1").rowcount == 1
    async with page(store) as url, httpx.AsyncClient(base_url=url) as client:
        assert "revisions 2 , 1" in await text_of(client, "/sessions/again")
        assert damaged == []
        assert "cannot be read" in await text_of(client, "/sessions/again?revision=1")
        assert damaged == ["session"]
    await store.close()


async def test_who_asks_while_too_many_do_is_told_to_come_again_and_forms_are_taken(store: SqliteStore) -> None:
    turns = Turns(at_a_time=1, most_waiting=0)
    async with page(store, turns=turns) as url, httpx.AsyncClient(base_url=url) as client:
        form = await form_of(client, "/label?evaluator=skill_selection")
        async with turns.mine():
            answer = await client.get("/sessions")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert "Too many ask at once" in answer.text
            kept = await client.post("/label", data={**form, "agree": "yes", "reason": "so it is", "author": "ana"})
            assert kept.status_code == 303
            assert (await client.get("/livez")).status_code == 200
        assert (await client.get("/sessions")).status_code == 200


async def test_an_empty_store_says_what_to_expect(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "empty.db")
    async with page(store) as url, httpx.AsyncClient(base_url=url) as client:
        assert "No session has been closed yet" in await text_of(client, "/sessions")
        assert "No skill was offered" in await text_of(client, "/skills")
        assert "No session was judged" in await text_of(client, "/versions")
        assert "no verdict with a score yet" in await text_of(client, "/label")
    await store.close()


async def test_a_session_without_a_trajectory_has_a_page(client: httpx.AsyncClient, store: SqliteStore) -> None:
    gone = replace(closed("gone"), trajectory=None, note="decoding failed twice", judged=False)
    await store.finish(gone, [judged("gone", outcome=NotJudged("evaluator_error"))], [], [])
    text = await text_of(client, "/sessions/gone")
    assert "There is no trajectory of this session: decoding failed twice" in text
    assert "cannot be read, so no case can be made" in await text_of(client, "/case?session=gone", 422)


async def test_overviews_count_offers_and_refusals(client: httpx.AsyncClient) -> None:
    text = await text_of(client, "/skills?within=30d")
    assert re.search(r"ledger .* support-desk 2\.4\.0 0 % of 1 .* 1 0 0 1( |$)", text)
    versions: Any = await text_of(client, "/versions")
    assert "argument_correctness 0 % of 1" in versions


async def test_who_signed_in_with_a_browser_is_named_and_can_sign_out(store: SqliteStore, tmp_path: Path) -> None:
    async with page(store, access=tokens(tmp_path)) as url, httpx.AsyncClient(base_url=url) as bert:
        origin = {"origin": url}
        assert (await bert.get("/sessions", headers={"accept": "text/html"})).headers["location"].startswith("/sign-in")
        signed_in = await bert.post("/sign-in", data={"token": "bert" * 12, "next": "/sessions"}, headers=origin)
        assert signed_in.status_code == 303
        shown = await bert.get("/sessions")
        assert "Signed in as </span>bert" in shown.text
        token = re.search(r'action="/sign-out"><input type="hidden" name="csrf" value="([0-9a-f]*)"', shown.text)
        assert token is not None
        assert (await bert.post("/sign-out", data={"csrf": token[1]}, headers=origin)).status_code == 303
        assert (await bert.get("/sessions")).status_code == 401
