"""The page in a real Chromium: what is seen, what keys do, what cannot happen; one browser and one store for all."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from collector.page.settings import PageSettings
from collector.store.sqlite import SqliteStore
from extractors.trajectory import Prompt
from judge.verdict import NotApplicable, NotJudged, Score
from tests.end_to_end.chromium import chromium
from tests.fakes.page import page as serving_page
from tests.fakes.rich_session import TRACE, fill, rich_session, span
from tests.fakes.verdicts import ANCHOR, NOW_NS, closed, judged

pytestmark = [pytest.mark.integration("chromium"), pytest.mark.asyncio(loop_scope="module")]

Scheme: TypeAlias = Literal["light", "dark"]

HOSTILE = (
    "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><svg onload='window.ran = 3'>"
    "</textarea></title></style><style>*{display:none}</style>\"'><a href='javascript:window.ran = 4'>go</a>"
    "<form action='https://elsewhere.example'><input name=csrf> \u202eevil\u2066 \x1b[2J \x00 {{ 7 * 7 }}"
)
"""What an agent may write, wherever it can."""
LONG = "x" * 300
"""A name that nothing can be wrapped at."""


@dataclass(frozen=True, slots=True)
class Desk:
    browser: Browser
    url: str
    store: SqliteStore
    hostile: str
    """id of a verdict that says hostile things"""

    @property
    def paths(self) -> list[str]:
        """Every kind of page, with what is hostile on it."""
        return [
            "/sessions",
            "/sessions?evaluator=skill_selection&label=No&since=tomorrow",
            "/sessions/desk-4711",
            "/sessions/hostile",
            "/text?session=hostile&of=answer",
            "/skills?within=30d",
            "/versions?within=30d",
            "/label",
            "/label?evaluator=skill_selection",
            f"/label?verdict={self.hostile}",
            "/case?session=desk-4711",
            "/sessions/absent",
        ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    directory = tmp_path_factory.mktemp("page")
    store = SqliteStore.open(directory / "verdicts.db")
    await fill(store, [rich_session(), rich_session("desk-4712", closed_ns=NOW_NS - 10**9)])
    hostile = await _finish_hostile(store)
    settings = PageSettings(
        trace_url="https://traces.example/{trace_id}/{span_id}",
        public_url="https://judge.example",
        suite_file=Path(directory / "desk.yaml"),
    )
    async with chromium() as browser, serving_page(store, settings=settings) as url:
        yield Desk(browser, url, store, hostile)
    await store.close()


async def _finish_hostile(store: SqliteStore) -> str:
    session = rich_session("hostile", closed_ns=NOW_NS - 2 * 10**9)
    assert session.trajectory is not None
    call, load = session.trajectory.tool_calls[2], session.trajectory.skill_invocations[1]
    trajectory = replace(
        session.trajectory,
        prompts=(Prompt(HOSTILE, ANCHOR, NOW_NS),),
        answer=HOSTILE,
        tool_calls=(replace(call, name=HOSTILE, arguments={HOSTILE: HOSTILE}, result=HOSTILE),),
        skill_invocations=(replace(load, name=HOSTILE, refusal=HOSTILE),),
        versions=replace(
            session.trajectory.versions, service=HOSTILE, agent_version=HOSTILE, skill_bodies={HOSTILE: "h", LONG: "h"}
        ),
        notes=(HOSTILE,),
    )
    verdict = judged("hostile", outcome=Score(0.0, HOSTILE, HOSTILE), skill=HOSTILE)
    others = [
        judged("hostile", f"{name}{LONG}", outcome=outcome, skill=None, ref="session")
        for name in ("a", "b")
        for outcome in (NotJudged("no_judge_configured", HOSTILE), NotApplicable(HOSTILE), Score(0.0, LONG, LONG))
    ]
    await store.finish(replace(session, trajectory=trajectory, note=HOSTILE), [verdict, *others], [], [])
    return verdict.id


@asynccontextmanager
async def looking(
    desk: Desk, path: str, *, width: int = 1280, scheme: Scheme = "light", script: bool = True
) -> AsyncIterator[Page]:
    """The page, and what the browser complains of, as an error of the test."""
    context = await desk.browser.new_context(
        base_url=desk.url,
        color_scheme=scheme,
        java_script_enabled=script,
        viewport={"width": width, "height": 800},
    )
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if "status of 4" not in message.text else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: complaints.append(sent.url) if not sent.url.startswith(desk.url) else None)
    await page.goto(path)
    try:
        yield page
    finally:
        await context.close()
    assert complaints == []


async def test_what_agents_write_never_runs_and_breaks_no_policy(desk: Desk) -> None:
    for path in desk.paths:
        async with looking(desk, path) as page:
            assert await page.evaluate("window.ran") is None, path
            assert await page.locator("a[href^='javascript']").count() == 0
            assert await page.locator("img, iframe, object, style, form[action^=http]").count() == 0
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            text = await page.locator("body").inner_text()
            assert not any(odd in text for odd in "\u202e\u2066\x1b")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_rule_of_accessibility_is_broken(desk: Desk, scheme: Scheme) -> None:
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    options = {"runOnly": tags, "resultTypes": ["violations"]}
    for path in desk.paths:
        async with looking(desk, path, scheme=scheme) as page:
            for details in await page.locator("details").all():
                await details.evaluate("one => { one.open = true; }")
            results = await Axe().run(page, options=options)
            assert [(one["id"], one["nodes"][0]["html"][:200]) for one in results.response["violations"]] == [], path


async def test_a_phone_scrolls_in_one_direction_only(desk: Desk) -> None:
    for path in desk.paths:
        async with looking(desk, path, width=360, scheme="dark") as page:
            for details in await page.locator("details").all():
                await details.evaluate("one => { one.open = true; }")
            assert await page.evaluate("document.documentElement.scrollWidth") <= 360, path


async def test_what_is_pressed_on_a_phone_is_large_enough(desk: Desk) -> None:
    async with looking(desk, "/label?evaluator=skill_selection", width=360) as page:
        for control in await page.locator("button[type=submit], select, textarea").all():
            box = await control.bounding_box()
            assert box is not None
            assert box["height"] >= 44


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
async def test_an_engineer_filters_and_opens_what_failed(desk: Desk, script: bool) -> None:
    async with looking(desk, "/sessions", script=script) as page:
        await page.get_by_text("More filters").click()
        await page.get_by_label("Skill", exact=True).fill("ledger")
        await page.get_by_label("Outcome").select_option("failed")
        await page.get_by_role("button", name="Show sessions").click()
        await expect(page.locator("li.session")).to_have_count(2)
        assert "skill=ledger" in page.url
        await page.locator("li.session a").first.click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("desk-4711")
        await page.get_by_role("link", name="failed argument_correctness").click()
        await expect(page.locator("article.verdict:target")).to_contain_text("pay_back got amount 1290.0")


async def test_what_is_written_from_right_to_left_moves_nothing_beside_it(desk: Desk) -> None:
    label = "\u05dc\u05d0"  # a number behind it would be read with it, and go to its left
    failed = judged("rtl", "budgets", outcome=Score(0.0, label, "no"), skill=None, ref="session")
    await desk.store.finish(closed("rtl", service="rtl", closed_ns=NOW_NS - 3 * 10**9), [failed], [], [])
    async with looking(desk, f"/label?verdict={failed.id}") as page:
        shown = await page.locator(".verdict .label").bounding_box()
        value = await page.locator(".verdict .value").bounding_box()
        assert shown is not None
        assert value is not None
        assert shown["x"] + shown["width"] <= value["x"] + 1


async def test_a_span_s_link_brings_its_step_into_view(desk: Desk) -> None:
    async with looking(desk, f"/traces/{TRACE}/{span(16).span_id}") as page:
        step = page.locator("li.entry", has_text="notify")
        await expect(step).to_be_in_viewport()


async def test_keys_walk_the_list_and_open_a_session(desk: Desk) -> None:
    async with looking(desk, "/sessions") as page:
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await page.keyboard.press("k")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/sessions/desk-4711")


async def test_without_a_mouse_the_first_key_skips_to_the_content(desk: Desk) -> None:
    async with looking(desk, "/sessions") as page:
        await page.keyboard.press("Tab")
        await expect(page.get_by_text("Skip to content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()


async def _labels(desk: Desk, verdict: str) -> list[tuple[str, bool, str]]:
    found = await desk.store.labels.of_verdicts([verdict])
    return [(label.author, label.agrees, label.reason) for label in found]


async def test_verdicts_are_labelled_with_the_keyboard_alone(desk: Desk) -> None:
    async with looking(desk, "/label?evaluator=argument_correctness") as page:
        verdict = await page.locator("input[name=verdict]").get_attribute("value")
        assert verdict is not None
        await page.keyboard.press("d")
        await page.keyboard.press("Tab")
        await page.keyboard.type("adam said it was asked for")  # the keys of words are words here
        await page.keyboard.press("Tab")
        await page.keyboard.type("ana")
        await page.keyboard.press("Control+Enter")
        await page.wait_for_url("**author=ana")
        assert await _labels(desk, verdict) == [("ana", False, "adam said it was asked for")]
        await expect(page.get_by_label("Your name")).to_have_value("ana")
        following = await page.locator("input[name=verdict]").get_attribute("value")
        assert following != verdict
        await page.keyboard.press("s")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is left to label")


async def test_a_verdict_is_labelled_beside_its_step(desk: Desk) -> None:
    async with looking(desk, "/sessions/desk-4711") as page:
        card = page.locator("article.verdict", has_text="Nothing here is to be booked")
        await card.focus()
        await page.keyboard.press("a")
        await page.keyboard.type("the desk has no ledger")
        await card.get_by_label("Your name").fill("bert")
        await card.get_by_role("button", name="Keep").click()
        await page.wait_for_url("**author=bert#v-*")
        await expect(card).to_contain_text("bert")
        await expect(card).to_contain_text("the desk has no ledger")
        await expect(card).to_be_in_viewport()


async def test_labels_can_be_given_without_script(desk: Desk) -> None:
    async with looking(desk, "/sessions/desk-4712", script=False) as page:
        card = page.locator("article.verdict", has_text="pay_back failed once")
        await card.get_by_text("Is it right?").click()
        await card.get_by_label("Agree", exact=False).first.check()
        await card.get_by_label("Why").fill("it did")
        await card.get_by_label("Your name").fill("cleo")
        await card.get_by_role("button", name="Keep").click()
        await expect(card).to_contain_text("cleo")


async def test_keys_can_be_switched_off(desk: Desk) -> None:
    async with looking(desk, "/sessions") as page:
        await page.get_by_role("button", name="Keys are on").click()
        await page.keyboard.press("j")
        assert await page.evaluate("document.activeElement.closest('li')") is None
        await page.reload()
        await expect(page.get_by_role("button", name="Keys are off")).to_be_visible()


async def test_a_drawing_has_its_numbers_beside_it(desk: Desk) -> None:
    async with looking(desk, "/skills?within=30d") as page:
        card = page.locator("section.card", has=page.get_by_role("heading", name="ledger", exact=True))
        await expect(card.get_by_role("img")).to_have_attribute("aria-label", _contains("selection accuracy: 0 % of 2"))
        await card.get_by_text("As a table").click()
        await expect(card.get_by_role("region", name="over time, as a table")).to_contain_text("0 % of 2")


def _contains(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


async def test_a_case_is_added_to_the_suite(desk: Desk) -> None:
    async with looking(desk, "/sessions/desk-4712") as page:
        await page.get_by_role("link", name="Add to suite").click()
        await page.get_by_label("Id of the case").fill("kettle")
        await page.get_by_label("High risk").check()
        await page.get_by_role("button", name="Show the case").click()
        await expect(page.locator("pre")).to_contain_text("risk: high")
        await page.get_by_role("button", name="Add to desk.yaml").click()
        await expect(page.get_by_role("status")).to_contain_text("Added desk/kettle to desk.yaml")


async def test_many_sessions_are_gone_through_page_by_page(desk: Desk) -> None:
    for number in range(51):
        await desk.store.finish(closed(f"old-{number}", closed_ns=NOW_NS - 10**12 - number), [], [], [])
    async with looking(desk, "/sessions?service=shop") as page:
        await page.get_by_role("link", name="Older sessions").click()
        await expect(page.locator("li.session")).to_have_count(1)
        await page.get_by_role("link", name="Newest").click()
        await expect(page.locator("li.session")).to_have_count(50)
