from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import skill_signals as signals
from extractors.anchors import Anchor
from extractors.skills import LoadedBy, LoadOutcome, Skill
from extractors.spans import Value
from extractors.trajectory import CallOutcome, ToolCall

ANCHOR = Anchor("span", "a" * 32, "b" * 16)
BODY = "# Brew\n\n1. Boil.\n2. Steep."


def call(
    name: str,
    arguments: dict[str, Value] | None = None,
    result: str | None = None,
    outcome: CallOutcome = CallOutcome.OK,
    error: str | None = None,
) -> ToolCall:
    return ToolCall(name, ANCHOR, "root", outcome, "c1", arguments, result=result, error=error)


def test_an_xml_catalog_is_read_with_its_entities_undone() -> None:
    text = (
        "You help.\n<available_skills>\n <skill>\n  <name>\nbrew\n</name>\n"
        "  <description>Tea &amp; coffee &lt;hot&gt;</description><location>/s/brew/SKILL.md</location>\n </skill>\n"
        "<skill><name>plug:in</name></skill>\n</available_skills> Go on."
    )
    assert signals.catalog(text) == (
        Skill("brew", "Tea & coffee <hot>", "/s/brew/SKILL.md"),
        Skill("plug:in"),
    )


def test_a_markdown_catalog_ends_at_the_next_heading() -> None:
    text = (
        "# Desk\n### Available skills\n- brew: Tea: green and black. (file: /s/brew/SKILL.md)\n"
        "- tools:grind: Beans.\nSome prose.\n- bare:\n### Rules\n- quiet: Always.\n"
    )
    assert signals.catalog(text) == (
        Skill("brew", "Tea: green and black.", "/s/brew/SKILL.md"),
        Skill("tools:grind", "Beans."),
        Skill("bare", ""),
    )


@pytest.mark.parametrize("heading", ["## Available Skills", "**Available Skills:**", "# available skills:"])
def test_a_markdown_catalog_may_have_any_heading_and_bold_names(heading: str) -> None:
    text = (
        f"You run a bar.\n\n{heading}\n\n- **bar:brew**: Brew coffee.\n- `roast`: Roast beans.\n\nBe kind.\n- tip: ask"
    )
    assert signals.catalog(text) == (Skill("bar:brew", "Brew coffee."), Skill("roast", "Roast beans."))


def test_a_path_on_the_line_below_a_skill_is_its_source() -> None:
    text = "**Available Skills:**\n\n- **brew**: Brew coffee.\n  -> Read `/s/brew/SKILL.md` for more\n- **roast**: R.\n"
    assert signals.catalog(text) == (Skill("brew", "Brew coffee.", "/s/brew/SKILL.md"), Skill("roast", "R."))


def test_a_person_speaking_of_available_skills_offers_none() -> None:
    assert signals.catalog("Available skills\n- brew: Brew coffee.") is None


def test_an_empty_catalog_and_no_catalog_differ() -> None:
    assert signals.catalog("<available_skills>\nNothing today.\n</available_skills>") == ()
    assert signals.catalog("### Available skills\n\n### Rules") == ()
    assert signals.catalog("You help.") is None


@pytest.mark.parametrize("text", ["see <available_skills> above", "<available_skills><skill><name>brew</name>", ""])
def test_a_catalog_that_is_only_mentioned_or_cut_is_not_recorded(text: str) -> None:
    assert signals.catalog(text) is None


def test_a_listing_inside_a_json_result_is_read() -> None:
    listing = '{"result": "<available_skills><skill><name>brew</name></skill></available_skills>"}'
    assert signals.catalog(listing) == (Skill("brew"),)


@given(text=st.text(alphabet="<>/availbe_sk nm\n#-:", max_size=300))
def test_no_text_breaks_the_recognizers(text: str) -> None:
    signals.catalog(text)
    signals.body_in(text)


@pytest.mark.parametrize(
    "tool", ["skills", "Skill", "load_skill", "activate_skill", "invoke_skill", "kitchen_load_skill"]
)
def test_tools_made_for_skills_are_known(tool: str) -> None:
    assert signals.skill_argument(tool) is not None


@pytest.mark.parametrize("tool", ["load_skill_resource", "unload_skill", "SKILLS", "skill", "run_skill_script", "read"])
def test_tools_with_similar_names_load_no_skill(tool: str) -> None:
    assert signals.skill_argument(tool) is None


def test_a_harness_trailer_is_no_part_of_the_body() -> None:
    trailer = "\n\n---\nLocation: /s/brew/SKILL.md\n\nAvailable resources:\n  references/beans.md"
    assert signals.body_in(BODY + trailer) == BODY
    assert signals.body_in(BODY + "\n\n---\n\nNever boil twice." + trailer) == BODY + "\n\n---\n\nNever boil twice."
    assert signals.body_in(BODY + "\n\n---\n\nNever boil twice.") == BODY + "\n\n---\n\nNever boil twice."


def test_a_line_that_says_loaded_before_the_body_is_no_part_of_it() -> None:
    assert signals.body_in(f"Loaded skill: brew\n\n{BODY}") == BODY


@pytest.mark.parametrize(
    "text", ["", "Launching skill: brew", "Skill 'brew' activated (no instructions available)", '{"status": "loaded"}']
)
def test_an_acknowledgement_is_no_body(text: str) -> None:
    assert signals.body_in(text) is None


def test_the_body_is_taken_out_of_a_json_result() -> None:
    assert signals.body_in('{"skill_name": "brew", "instructions": "Boil."}') == "Boil."


def test_the_hash_is_the_version_of_the_body() -> None:
    assert signals.body_hash("Boil.") != signals.body_hash("Boil!")
    assert len(signals.body_hash("Boil.")) == 16
    assert signals.body_hash("lone \ud800") == signals.body_hash("lone \ud800")


def test_a_loaded_skill_has_a_body_and_a_version() -> None:
    (attempt,) = signals.invocations([call("skills", {"skill_name": "brew"}, BODY)])
    assert (attempt.name, attempt.outcome, attempt.body) == ("brew", LoadOutcome.LOADED, BODY)
    assert attempt.body_hash == signals.body_hash(BODY)


def test_a_refusal_in_a_successful_result_is_a_refusal_of_call_and_skill() -> None:
    text = "Skill 'brew' not found. Available skills: grind"
    (refused,) = signals.with_refusals([call("skills", {"skill_name": "brew"}, text)])
    assert refused.outcome is CallOutcome.REFUSED
    (attempt,) = signals.invocations([refused])
    assert (attempt.outcome, attempt.refusal, attempt.body) == (LoadOutcome.REFUSED, text, None)


def test_the_same_words_from_another_tool_are_no_refusal() -> None:
    (other,) = signals.with_refusals([call("search", {}, "Unknown skill: brew")])
    assert other.outcome is CallOutcome.OK
    assert signals.invocations([other]) == ()


def test_a_refusal_to_read_a_skills_resource_is_a_failed_call_and_no_load() -> None:
    text = "Error: Resource 'beans.md' not found in skill 'brew'."
    calls = signals.with_refusals([call("read_skill_resource", {"skill_name": "brew"}, text)])
    assert (calls[0].outcome, calls[0].error) == (CallOutcome.FAILED, text)
    assert signals.invocations(calls) == ()


def test_a_json_error_is_a_refusal_in_its_own_words() -> None:
    result = '{"error": "Skill brew is asleep.", "error_code": "SLEEPY"}'
    failed = call("load_skill", {"skill_name": "brew"}, result, CallOutcome.FAILED, "SLEEPY")
    (attempt,) = signals.invocations(signals.with_refusals([failed]))
    assert (attempt.outcome, attempt.refusal) == (LoadOutcome.REFUSED, "Skill brew is asleep.")


def test_a_load_without_outcome_is_unanswered() -> None:
    (attempt,) = signals.invocations([call("Skill", {"skill": "brew"}, outcome=CallOutcome.UNANSWERED)])
    assert attempt.outcome is LoadOutcome.UNANSWERED


def test_a_hidden_name_and_a_blank_name_differ() -> None:
    hidden, missing, odd = signals.invocations(
        [call("skills", None, BODY), call("skills", {}, BODY), call("skills", {"skill_name": ["brew"]}, BODY)]
    )
    assert (hidden.name, missing.name, odd.name) == (None, "", '["brew"]')


def test_skill_attributes_name_the_skill_of_an_unknown_tool() -> None:
    declared = {ANCHOR.ref: Skill("brew", source="file:///s/brew")}
    (attempt,) = signals.invocations([call("fetch_recipe")], declared)
    assert (attempt.name, attempt.source, attempt.outcome) == ("brew", "file:///s/brew", LoadOutcome.LOADED)
    assert signals.invocations([call("load_skill_resource")], declared) == ()


def test_reading_a_skill_file_loads_the_skill() -> None:
    text = "---\nname: brew\ndescription: Tea.\n---\n" + BODY
    (attempt,) = signals.invocations([call("read_file", {"path": "/s/tea/SKILL.md"}, text)])
    assert (attempt.name, attempt.loaded_by, attempt.source) == ("brew", LoadedBy.FILE, "/s/tea/SKILL.md")
    assert attempt.body == text


@pytest.mark.parametrize(
    ("result", "outcome", "refusal"),
    [
        (" ", CallOutcome.OK, ""),
        ("no such file", CallOutcome.FAILED, "no such file"),
        (None, CallOutcome.REFUSED, None),
    ],
)
def test_a_file_that_could_not_be_read_is_a_refused_skill(
    result: str | None, outcome: CallOutcome, refusal: str | None
) -> None:
    (attempt,) = signals.invocations([call("read_file", {"path": "/s/tea/SKILL.md"}, result, outcome)])
    assert (attempt.name, attempt.outcome, attempt.refusal) == ("tea", LoadOutcome.REFUSED, refusal)
    assert attempt.body is None


def test_a_file_whose_text_was_not_recorded_was_loaded_all_the_same() -> None:
    (attempt,) = signals.invocations([call("read_file", {"path": "/s/tea/SKILL.md"})])
    assert (attempt.name, attempt.outcome, attempt.body) == ("tea", LoadOutcome.LOADED, None)
